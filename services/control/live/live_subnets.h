// All live subnets, one thread each, so that a subnet that does not answer delays no other. Follows the published state
// of the control loop and reports to it what was observed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabric/base/log/log.h"
#include "fabric/base/worker/worker.h"
#include "services/control/control_loop.h"
#include "services/control/live/opensm_link.h"
#include "services/control/live/status/live_fabric.h"
#include "services/control/live/subnet_controller.h"

namespace railweave::control {

class LiveSubnets final : public LiveFabric {
 public:
  using Connect = std::function<Result<std::unique_ptr<fabric::FabricDriver>>(SubnetMode)>;
  struct Subnet {
    SubnetOptions options;
    Connect connect;
    std::string opensm_socket;  // that OpenSM's plugin connects to; "": none
  };

  struct Clocks {
    Clocks();  // of this machine
    std::function<std::int64_t()> monotonic_us, unix_us;
  };

  // loop must outlive it, and be started before start().
  LiveSubnets(ControlLoop& loop, std::vector<Subnet> subnets, const log::Log& log, const Clocks& clocks = {});
  ~LiveSubnets() override;

  // Errors: a socket that cannot be opened.
  [[nodiscard]] Result<void> start();
  // Instead of start(), on the caller's thread: one round of each subnet, which waits for reports for at most `wait`.
  void step(std::chrono::milliseconds wait);
  // The routes of the accepted topology, shared with their other users.
  [[nodiscard]] const std::shared_ptr<RoutingCache>& routes() const { return routes_; }

  // Ends the threads. Switches keep their tables; waiting requests are answered. May be called twice.
  void stop();

  [[nodiscard]] std::vector<SubnetStatusPtr> subnets() const override;
  [[nodiscard]] SubnetStatusPtr subnet(std::string_view name) const override;
  [[nodiscard]] std::optional<PortProgress> port_progress(std::string_view name) const override;
  void ask(std::string_view subnet, Request request, Completion done) override;
  void release(std::string_view subnet, const std::string& link) override;
  [[nodiscard]] std::optional<PortCounters> counters(const fabric::Topology& topology,
                                                     fabric::PortId port) const override;
  [[nodiscard]] std::optional<PastCounters> counters_at(const fabric::Topology& topology, fabric::PortId port,
                                                        std::int64_t at_us) const override;
  [[nodiscard]] ArchivedPorts archive(const fabric::Topology& topology, std::span<const fabric::PortId> ports,
                                      fabric::health::ArchiveRing ring) const override;

 private:
  struct Running {
    std::string name;
    std::unique_ptr<SubnetController> controller;
    std::string opensm_socket;
    std::unique_ptr<OpensmLink> opensm;
    std::unique_ptr<Worker> worker;
  };
  void run(Running& running, Worker::Turn& turn);
  // request: what it came of, for the audit trail.
  void report(decltype(Command::body) body, std::string request);

  ControlLoop& loop_;
  const log::Log log_;
  const std::shared_ptr<RoutingCache> routes_;  // the loop's
  RoutingCache host_routes_{false};
  std::vector<Running> running_;
};

}  // namespace railweave::control
