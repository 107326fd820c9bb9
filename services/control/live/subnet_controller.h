// Keeps one subnet as the state asks: reads what is there, follows what changes, computes routes for it, programs the
// difference, reads it back, and reports. LiveSubnets runs one per subnet: step() is called by one thread, which the
// driver may block for as long as its bounded retries take; all else may be called from any thread.
//
//   trap or poll -> recheck or sweep -> link states -> reroute -> check what changed -> delta -> program -> read back
//
// What was observed is reported to the control loop afterwards: repairing never waits for the store. What is to be done
// follows from what differs, not from what was reported as changed: nothing that is known is forgotten before it is done.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/control/live/cabling/cabling_follower.h"
#include "services/control/live/connection/subnet_connection.h"
#include "services/control/live/connection/subnet_inbox.h"
#include "services/control/live/connection/subnet_log.h"
#include "services/control/live/connection/subnet_options.h"
#include "services/control/live/links/fabric_watch.h"
#include "services/control/live/links/observed_links.h"
#include "services/control/live/links/subnet_health.h"
#include "services/control/live/links/subnet_links.h"
#include "services/control/live/ports/administration_keeper.h"
#include "services/control/live/ports/port_activation.h"
#include "services/control/live/ports/qos_keeper.h"
#include "services/control/live/ports/subnet_keys.h"
#include "services/control/live/routes/engine_candidates.h"
#include "services/control/live/routes/route_audit.h"
#include "services/control/live/routes/subnet_routes.h"
#include "services/control/live/status/status_board.h"

namespace railweave::control {

class SubnetController {
 public:
  SubnetController(SubnetOptions options, SubnetSurroundings surroundings);

  // One round: follows the state, waits for reports for at most `wait`, repairs what changed, answers requests.
  void step(const ClusterStatePtr& state, std::chrono::milliseconds wait);

  [[nodiscard]] SubnetStatusPtr status() const { return board_.published(); }
  [[nodiscard]] PortProgress port_progress() const { return board_.ports(); }
  // The id of the round under way, for its reports; for the stepping thread.
  [[nodiscard]] const std::string& round_id() { return rounds_.round(); }
  // See LiveFabric. None too: of another topology.
  [[nodiscard]] std::optional<PortCounters> counters(const fabric::Topology& topology, fabric::PortId port) const;
  [[nodiscard]] std::optional<PastCounters> counters_at(const fabric::Topology& topology, fabric::PortId port,
                                                        std::int64_t at_us) const;
  void archive(const fabric::Topology& topology, std::span<const fabric::PortId> ports,
               fabric::health::ArchiveRing ring, ArchivedPorts& ranges) const;
  // See LiveFabric::ask.
  void ask(LiveFabric::Request request, LiveFabric::Completion done);
  // After the last step(): waiting requests are answered with an error.
  void refuse_requests();
  // See LiveFabric::release; by Topology::link_text().
  void release(const std::string& link) { inbox_.release(link); }
  // OpenSM's plugin saw links of these switches change: handled as if the switches had reported it.
  void notice(const std::vector<Guid>& switches) { inbox_.notice(switches); }
  void opensm_connected(Guid instance, bool connected) { inbox_.opensm_connected(instance, connected); }
  void opensm_writes() { inbox_.opensm_writes(); }    // forwarding tables, soon
  void opensm_settled() { inbox_.opensm_settled(); }  // a sweep is done: its tables are on the switches
  void opensm_refused(const std::string& why) { inbox_.opensm_refused(why); }
  void opensm_wrote() { inbox_.opensm_wrote(); }
  void opensm_takes_ports(Guid instance, const std::string& why_not) { inbox_.opensm_takes_ports(instance, why_not); }
  // What OpenSM is to write to ports, for the stepping thread; null: not known yet, so that it is to stay as it is. repeat:
  // another number, to have it written again.
  struct OpensmPorts {
    std::shared_ptr<const fabric::opensm::PortPolicy> ports;
    std::uint64_t repeat = 0;
    std::uint64_t rewrite = 0;  // the same of forwarding tables
  };
  [[nodiscard]] OpensmPorts opensm_ports() const {
    if (followed_ == nullptr || connection_.mode() != SubnetMode::opensm) return {};
    return {followed_->qos.opensm_ports(), followed_->qos.opensm_repeat(), followed_->routes.opensm_rewrite()};
  }

 private:
  // All that is about one accepted topology, replaced with it. Not movable: its parts refer to each other.
  struct Followed {
    // before: the one that it replaces, or null.
    Followed(const SubnetContext& context, const ClusterState& state, SubnetRoutes::Audits audits,
             const FabricWatch& watch, const Followed* before);
    Followed(const Followed&) = delete;
    Followed& operator=(const Followed&) = delete;
    [[nodiscard]] QosKeeper::Routes routes_for_qos() const;

    const std::uint64_t version;
    const SubnetLinks links;
    const std::vector<Exchange> exchanged;  // cables that are not as intended
    ObservedLinks observed;
    PortActivation ports;
    SubnetRoutes routes;
    QosKeeper qos;
    // Kept while the topology is the same: counters go on. Null: the topology has no such subnet.
    const std::shared_ptr<SubnetHealth> health;
  };

  // The steps of a round. Errors: the connection failed, which ends the round.
  Result<void> round(const ClusterState& state, std::chrono::milliseconds wait);
  Result<void> listen(const ClusterState& state, std::chrono::milliseconds wait);
  Result<void> follow_state(const ClusterState& state);
  Result<void> use_idle_time(const ClusterState& state);
  Result<void> keep_qos(const ClusterState& state);
  Result<void> poll_counters(const ClusterState& state);
  Result<void> tell_clients();
  void answer_requests(const ClusterState& state);
  void answer(const ClusterState& state, SubnetInbox::Asked& asked);

  void connect();
  void disconnect(const Error& error);
  void stop_writing(const Error& error);
  Result<void> follow_topology(const ClusterState& state);
  Result<void> discover(const ClusterState& state);
  Result<void> check_in_charge();
  Result<void> handle(const ClusterState& state, FabricWatch::Finding finding);
  // recompute: routes too, whatever differs.
  Result<void> follow_links(const ClusterState& state, RepairCause cause, bool recompute = false);
  Result<void> follow_flaps(const ClusterState& state);
  Result<void> keep_ports_active();
  void report_in_force(const ClusterState& state);
  void go_blind();
  void leave_blindness();
  void report_links(const ClusterState& state);
  void tell_links(const ObservedLinks::Change& change, const RepairCause& cause) const;
  void show_differences(const ClusterState& state);

  [[nodiscard]] std::shared_ptr<const SubnetHealth> health() const;

  // For the whole life of the controller.
  const SubnetOptions options_;
  const SubnetSurroundings with_;
  SubnetInbox inbox_;
  StatusBoard board_;
  SubnetConnection connection_;
  LinkJobs jobs_;
  SubnetLog rounds_;
  const SubnetContext context_;
  FabricWatch watch_;
  CablingFollower cabling_;
  SubnetKeys keys_;
  AdministrationKeeper administration_;
  RouteAudit audit_, walks_;
  QuietThreads quiet_;

  std::unique_ptr<Followed> followed_;  // null: no topology was followed yet
  static constexpr std::uint64_t kNoSeq = UINT64_MAX;
  std::uint64_t seq_ = kNoSeq;  // of the state whose drains were looked at
  bool is_blind_ = false;       // nothing is known of the subnet, though the connection is open
  std::int64_t phase_shown_us_ = 0, in_force_at_us_ = 0;
  mutable std::mutex health_mutex_;  // guards health_
  std::shared_ptr<SubnetHealth> health_;
};

}  // namespace railweave::control
