// Classes of traffic and partitions on one subnet: planned when the state changes, written to ports (direct mode) or
// offered as OpenSM's files (opensm mode). Nothing here is done before the subnet is quiet, and little at a time: a
// link that fails is repaired first. Of one accepted topology; used by the stepping thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabric/drivers/opensm/protocol/port_lanes.h"
#include "services/control/live/connection/subnet_inbox.h"
#include "services/control/live/links/subnet_context.h"
#include "services/control/live/ports/lanes_on_ports.h"
#include "services/control/live/ports/subnet_qos.h"

namespace railweave::control {

class QosKeeper {
 public:
  // was_asked: of the topology before, see SubnetQos.
  QosKeeper(const SubnetContext& context, const SubnetLinks& links, bool was_asked)
      : context_(context), links_(links), qos_(was_asked) {}

  // The routes that classes share lanes with.
  struct Routes {
    const fabric::RoutingInput& input;
    const fabric::Routing& routing;
    std::uint64_t version = 0;
    const fabric::FabricView& view;  // with the links as they are
    bool are_applied = false;        // switches hold them
  };
  // Plans again where the state or the routes are others than before.
  void plan(const ClusterState& state, const Routes& routes);
  // Before switches get these routes: no packet of a running job's lane is dropped on them, as far as ports can be written in
  // a fraction of a second. Error: the connection failed.
  Result<void> open_for(const ClusterState& state, const Routes& routes, const std::function<bool(Guid)>& is_silent);
  // Whether ports have the tables for the lanes of these routes, and writes them for at most so long. Error: the connection
  // failed.
  Result<LanesOnPorts> ready_lanes(const ClusterState& state, const Routes& routes,
                                   const std::function<bool(Guid)>& is_silent, std::int64_t for_us);
  // Writes for a few milliseconds; silent devices are written later. Error: the connection failed.
  Result<void> write_some(const std::function<bool(Guid)>& is_silent);

  // Looks at ports that are written, a few at a time: what another program has changed raises an alarm and is written again.
  Result<void> look_some(const std::function<bool(Guid)>& is_silent);

  // In opensm mode: what its plugin reports.
  void hear(const SubnetInbox::OpensmNews& news);
  // OpenSM writes the tables of ports: write_some() reads them.
  [[nodiscard]] bool opensm_writes() const { return qos_.opensm_writes(); }
  // What it is to write; null: not known yet. And another number whenever ports have not got that for some seconds.
  [[nodiscard]] const std::shared_ptr<const fabric::opensm::PortPolicy>& opensm_ports() const { return opensm_ports_; }
  [[nodiscard]] std::uint64_t opensm_repeat() const { return opensm_repeat_; }

  // What the state does not have yet.
  void report_limits(const ClusterState& state) const;

  [[nodiscard]] bool is_asked() const { return qos_.is_asked(); }
  [[nodiscard]] const AdministeredTables& administered() { return qos_.administered(); }
  [[nodiscard]] bool has_lanes() const { return !qos_.lanes().empty(); }  // of jobs' own, as planned
  [[nodiscard]] bool is_due() const { return qos_.ports().is_due(context_.now()); }
  // Ports that came up: they may have lost their tables, and may be able to take others.
  void forget(const SubnetLinks::Cable& cable);
  void forget_all() { qos_.ports().forget_all(); }

 private:
  void offer(const SubnetQos::Basis& basis);
  void plan_opensm_ports();
  void report_written();
  void show();
  void raise_changed();
  [[nodiscard]] std::string name_of(fabric::PortRef port) const;
  void show_progress();
  void plan_again(const ClusterState& state, const Routes& routes);
  [[nodiscard]] SubnetQos::Basis basis_of(const ClusterState& state, const Routes& routes,
                                          const ReservedLoads& reserved) const;
  [[nodiscard]] std::string text_of(const PortKeeper::Failure& failure) const;

  const SubnetContext& context_;
  const SubnetLinks& links_;
  SubnetQos qos_;
  std::uint64_t seq_ = UINT64_MAX, routing_version_ = 0;  // of the state and the routes that the plan is for
  bool are_applied_ = false;
  std::int64_t shown_us_ = 0;
  // What was shown of ports, and when.
  std::uint64_t progress_seq_ = UINT64_MAX, progress_revision_ = 0;
  std::int64_t progress_us_ = 0;
  std::shared_ptr<const std::vector<PendingPort>> pending_;
  std::string offer_problem_;
  bool opensm_takes_ports_ = false;
  std::string no_opensm_ports_ = "OpenSM's plugin has not said that it takes tables of ports";
  std::shared_ptr<const fabric::opensm::PortPolicy> opensm_ports_;
  std::uint64_t opensm_repeat_ = 0;
  std::int64_t repeated_us_ = 0;
};

}  // namespace railweave::control
