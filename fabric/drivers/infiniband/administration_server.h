// The subnet's administration at work: a thread that receives what clients ask, answers it from the newest snapshot of the subnet,
// sends tables in segments, and tells subscribers of notices. Snapshots and traps may be handed in and counts read by any thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/base/worker/worker.h"
#include "fabric/drivers/administration.h"
#include "fabric/drivers/infiniband/administration/administrator.h"
#include "fabric/drivers/infiniband/administration/report_sender.h"
#include "fabric/drivers/infiniband/administration/rmpp_sender.h"
#include "fabric/drivers/infiniband/administration_port.h"

namespace railweave::fabric::infiniband {

class AdministrationServer {
 public:
  // key: of trusted requesters; 0: there are none. leads: false: another process may administer the subnet, and nothing is
  // answered; unset: always true.
  AdministrationServer(std::unique_ptr<AdministrationPort> port, std::uint64_t key, std::function<bool()> leads,
                       const RmppOptions& options = {}, const ReportOptions& reports = {});

  // Until the first one, and again after null, clients are told to ask later. After null all that they registered is forgotten, as
  // they may have registered elsewhere meanwhile.
  void publish(AdministeredSubnetPtr subnet);
  // A device's trap, for those who subscribed to it: its attribute, and who sent it (0: the local port).
  void forward(AttributeBytes trap, Lid source);
  [[nodiscard]] AdministrationCounts counts() const;
  // As last published.
  [[nodiscard]] AdministeredSubnetPtr subnet() const;
  struct Multicast {
    MulticastMembersPtr members;  // null: no port may join yet
    std::uint64_t revision = 0;
  };
  [[nodiscard]] Multicast multicast() const;
  // What switches hold now.
  void publish(MulticastTablesPtr tables);
  [[nodiscard]] std::uint64_t key() const { return key_; }

 private:
  struct Trap {
    std::array<std::uint8_t, 64> bytes{};
    Lid source = 0;
  };

  void serve(Worker::Turn& turn);
  [[nodiscard]] Milliseconds wait_time() const;
  void take(const AdministrationPort::Received& received);
  void send(const SaClient& client, const Mad& mad, Milliseconds answer_within = Milliseconds(0));
  void report(const SubnetNotice& notice);
  void end_reports();
  void report_traps();
  void report_groups();
  void note_sent();
  void follow_subnet();
  void hand_out_members();

  const std::unique_ptr<AdministrationPort> port_;
  const std::uint64_t key_;
  const std::function<bool()> leads_;
  RmppSender sender_;               // the thread's own
  ReportSender reports_;            // the thread's own
  AdministrationCounts own_;        // the thread's own; counts_ is what others see
  Registrations registrations_;     // the thread's own
  AdministeredSubnetPtr followed_;  // the thread's own: the snapshot that registrations are of
  std::uint64_t forgotten_ = 0;     // the thread's own
  mutable std::mutex mutex_;        // guards the next ones
  AdministeredSubnetPtr subnet_;
  std::uint64_t to_forget_ = 0;  // counts how often all was to be forgotten
  Multicast multicast_;
  MulticastTablesPtr multicast_tables_;
  std::vector<Trap> traps_;  // to be forwarded
  AdministrationCounts counts_;
  Worker worker_{"subnet-admin"};
};

}  // namespace railweave::fabric::infiniband
