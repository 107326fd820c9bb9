// Keeps one subnet as Railweave wants it: reads what is there, follows what changes, computes routes for it, programs
// the difference, reads it back, and reports. One step() after the other by one thread, which the driver may block for
// as long as its bounded retries take; status() from any thread.
//
//   trap or poll -> recheck or sweep -> link states -> reroute -> check what changed -> delta -> program -> read back
//
// What was observed is reported to the control loop afterwards: repairing never waits for the store.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/health/link_damping.h"
#include "services/control/events/command.h"
#include "services/control/live/live_fabric.h"
#include "services/control/live/route_audit.h"
#include "services/control/live/subnet_alarms.h"
#include "services/control/live/subnet_health.h"
#include "services/control/live/subnet_links.h"
#include "services/control/live/subnet_qos.h"
#include "services/control/live/subnet_status.h"
#include "services/control/views/host_jobs.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

struct SubnetOptions {
  using Milliseconds = std::chrono::milliseconds;
  std::string subnet;
  std::string port;                       // through which it is looked at, for people
  Milliseconds sweep_every{10'000};       // the light sweep that catches lost traps
  Milliseconds read_back_every{600'000};  // all tables, in case somebody else wrote
  Milliseconds counters_every{10'000};    // of every port, as fast as the driver's limit allows
  fabric::health::DampingOptions damping;
  Milliseconds coalesce{1};  // after a trap, for others to come with it
  Milliseconds coalesce_most{20};
  std::string opensm_files;                             // folder for the files that OpenSM reads; "": none are written
  std::launch audits = std::launch::async;              // of whole routings; deferred: on the stepping thread
  Milliseconds retry_first{1'000}, retry_most{30'000};  // of a connection that fails, of switches that do not answer
};

// What a controller needs of the rest; all outlive it.
struct SubnetSurroundings {
  std::function<Result<std::unique_ptr<fabric::FabricDriver>>(SubnetMode)> connect;
  std::function<std::int64_t()> monotonic_us, unix_us;
  std::function<void(decltype(Command::body))> report;  // to the control loop; must not block
  using RoutesOf = std::function<Result<FabricRoutesPtr>(const ClusterState&)>;
  RoutesOf routes;
  RoutesOf host_routes;  // for opensm mode: OpenSM routes switches' own LIDs in its own way
  // What guarantees take of every link of the state, for the stepping thread only; valid until it is asked again. Not
  // set: ports are weighed by the classes' shares.
  std::function<Result<ReservedLoads>(const ClusterState&)> reserved{};
};

class SubnetController {
 public:
  SubnetController(SubnetOptions options, SubnetSurroundings surroundings);

  // One round: takes up what the state wants and what was asked, listens for at most `wait`, repairs what changed.
  void step(const ClusterStatePtr& state, std::chrono::milliseconds wait);

  [[nodiscard]] SubnetStatusPtr status() const;
  // Thread-safe; see LiveFabric::ask.
  void ask(LiveFabric::Request request, LiveFabric::Completion done);
  // Thread-safe; none: not read, or of another topology.
  [[nodiscard]] std::optional<PortCounters> counters(const fabric::Topology& topology, fabric::PortId port) const;
  // Nobody steps it any more: what was asked is answered so. Thread-safe.
  void refuse_requests();
  // Somebody else saw links change (OpenSM's plugin): as if the switches had reported it. Thread-safe.
  void notice(std::vector<Guid> switches);
  // What OpenSM's plugin tells. Thread-safe.
  void opensm_connected(bool connected);
  void opensm_settled();  // a sweep is done: its tables are on the switches
  void opensm_refused(const std::string& why);

 private:
  struct Asked {
    LiveFabric::Request request;
    LiveFabric::Completion done;
  };
  // What a round is about, and its clock.
  struct Cause {
    std::string text;
    std::int64_t noticed_us = 0, swept_us = 0;  // monotonic; from the first report
    std::int64_t start_us = 0;
    std::uint64_t mads = 0;
  };

  void connect();
  void disconnect(const Error& error);
  void take_topology(const ClusterState& state);
  void look_everywhere(const ClusterState& state);
  void listen(const ClusterState& state, std::chrono::milliseconds wait);
  void sweep(const ClusterState& state, Cause cause);
  void took_sweep(const ClusterState& state, const fabric::Sweep& swept, Cause cause);
  void follow_links(const ClusterState& state, Cause cause);
  void bring_to_wanted(const ClusterState& state, Cause cause);
  [[nodiscard]] bool is_sound(const fabric::Routing& routing);
  void bring_up();
  void stop_writing(const Error& error);
  void check_opensm(const ClusterState& state);
  bool compare_with_opensm();
  void keep_foreign_entries(fabric::ForwardingDelta& delta) const;
  [[nodiscard]] std::string other_lids() const;
  bool read_back(std::span<const fabric::SwitchId> switches);
  void program(const ClusterState& state, const Cause& cause, std::int64_t computed_us);
  void advance_drains(const ClusterState& state);
  void answer_requests(const ClusterState& state);
  void keep_in_mind_isolated(fabric::SwitchId sw, const std::string& reason);
  void check_idle(const ClusterState& state);
  [[nodiscard]] bool is_quiet() const;
  void keep_qos(const ClusterState& state);
  void plan_qos(const ClusterState& state);
  void write_qos();
  [[nodiscard]] std::string status_of(const PortKeeper::Failure& failure) const;
  void offer_qos(const SubnetQos::Basis& basis);
  void report_qos();
  [[nodiscard]] const HostJobs& host_jobs(const ClusterState& state);
  [[nodiscard]] std::uint64_t digest_of(const fabric::Routing& routing) const;
  void take_audit();
  void read_back_some(const ClusterState& state);
  void poll_counters(const ClusterState& state);
  void damp(std::vector<fabric::LinkState>& states);
  [[nodiscard]] std::vector<std::string> jobs_at(const ClusterState& state, fabric::LinkId link);
  void report_links(const ClusterState& state);
  void find_differences(const ClusterState& state);
  [[nodiscard]] bool writes() const { return mode_ != SubnetMode::observe; }
  [[nodiscard]] std::vector<std::uint8_t> urgent(const ClusterState& state) const;
  [[nodiscard]] bool in_use(const ClusterState& state, const Drain& drain) const;
  [[nodiscard]] std::int64_t now() const { return with_.monotonic_us(); }
  void publish();

  const SubnetOptions options_;
  const SubnetSurroundings with_;

  mutable std::mutex mutex_;  // guards published_, asked_, noticed_, health_
  SubnetStatusPtr published_;
  std::deque<Asked> asked_;
  std::vector<Guid> noticed_;
  bool opensm_is_there_ = false, opensm_settled_ = false;
  std::string opensm_refusal_;
  std::shared_ptr<SubnetHealth> health_;

  // The stepping thread's own.
  std::unique_ptr<fabric::FabricDriver> driver_;
  SubnetMode mode_ = SubnetMode::observe;
  SubnetStatus status_;
  SubnetLinks links_;
  std::uint64_t topology_version_ = 0, view_version_ = 0, seq_ = 0;
  std::vector<fabric::LinkState> link_states_;   // as links_.cables(); links that flap are down
  std::vector<fabric::LinkState> found_states_;  // as found
  std::optional<fabric::health::LinkDamping> damping_;
  FabricRoutesPtr base_;                            // of the accepted topology, made when it was accepted
  std::optional<fabric::Routing> wanted_;           // of view_
  std::uint64_t wanted_version_ = 0;                // grows when wanted_ gets other tables
  std::optional<std::uint64_t> unreachable_pairs_;  // of wanted_; none: not audited yet
  std::string unsound_;                             // why wanted_ does not pass the audit; "": it does
  fabric::FabricView view_;
  std::optional<fabric::Routing> applied_;  // what switches hold, but for those in unsynced_; none: not read yet
  std::set<fabric::SwitchId> unsynced_;     // whose tables are not known
  std::map<fabric::SwitchId, std::string> isolated_;
  std::set<Guid> silent_;
  SubnetAlarms alarms_;
  std::optional<HostJobs> host_jobs_;  // of the state of host_jobs_seq_
  std::uint64_t host_jobs_seq_ = 0;
  std::int64_t retry_at_us_ = 0, retry_wait_us_ = 0, swept_at_us_ = 0, read_back_at_us_ = 0, retry_isolated_us_ = 0;
  std::int64_t quiet_since_us_ = 0;
  std::size_t read_back_next_ = 0;  // of links_.switches(); 0: no reading of all tables is under way
  // In opensm mode: entries by LID as read, for LIDs that we do not route; whether OpenSM's tables are ours.
  std::map<fabric::SwitchId, std::vector<std::uint16_t>> raw_;
  bool matches_opensm_ = false;
  RouteAudit audit_;
  SubnetQos qos_;
  std::uint64_t qos_seq_ = UINT64_MAX, qos_routing_version_ = 0;
  std::int64_t qos_shown_us_ = 0;
  std::string offer_problem_;
  bool audited_ = false, brought_up_ = false, ports_left_ = false, rediscover_ = false;
};

}  // namespace railweave::control
