// The subnet's administration at work: a thread that receives what clients ask, answers it from the newest snapshot of the subnet,
// and sends tables in segments. Snapshots may be published and counts read by any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "fabric/base/worker/worker.h"
#include "fabric/drivers/administration.h"
#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/rmpp_sender.h"
#include "fabric/drivers/infiniband/administration_port.h"

namespace railweave::fabric::infiniband {

class AdministrationServer {
 public:
  // key: of trusted requesters; 0: there are none. leads: false: another process may administer the subnet, and nothing is
  // answered; unset: always true.
  AdministrationServer(std::unique_ptr<AdministrationPort> port, std::uint64_t key, std::function<bool()> leads,
                       const RmppOptions& options = {});

  // Until the first one, and again after null, clients are told to ask later.
  void publish(AdministeredSubnetPtr subnet);
  [[nodiscard]] AdministrationCounts counts() const;
  [[nodiscard]] std::uint64_t key() const { return key_; }

 private:
  void serve(Worker::Turn& turn);
  void take(const AdministrationPort::Received& received);
  void send(const SaClient& client, const Mad& mad);
  void note_segments();
  [[nodiscard]] AdministeredSubnetPtr subnet() const;

  const std::unique_ptr<AdministrationPort> port_;
  const std::uint64_t key_;
  const std::function<bool()> leads_;
  RmppSender sender_;         // the thread's own
  AdministrationCounts own_;  // the thread's own; counts_ is what others see
  mutable std::mutex mutex_;  // guards the next two
  AdministeredSubnetPtr subnet_;
  AdministrationCounts counts_;
  Worker worker_{"subnet-admin"};
};

}  // namespace railweave::fabric::infiniband
