// The routes of one subnet: computed for what is there, programmed where the mode allows it, read back and audited. Of
// one accepted topology; used by the stepping thread.
//
//   link states, drains -> wanted routes -> verified -> delta to the applied tables -> programmed -> read back
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "fabric/routing/delta/forwarding_delta.h"
#include "services/control/live/links/observed_links.h"
#include "services/control/live/links/switch_presence.h"
#include "services/control/live/ports/port_activation.h"
#include "services/control/live/routes/ahead_of_sweep.h"
#include "services/control/live/routes/applied_tables.h"
#include "services/control/live/routes/balanced_routes.h"
#include "services/control/live/routes/engine_candidates.h"
#include "services/control/live/routes/opensm_match.h"
#include "services/control/live/routes/route_lanes.h"
#include "services/control/live/routes/tables_in_force.h"
#include "services/control/live/routes/truth_probe.h"
#include "services/control/live/routes/wanted_routes.h"
#include "services/control/views/placed_jobs.h"

namespace railweave::control {

class SubnetRoutes {
 public:
  // What outlives a topology.
  struct Carried {
    std::uint64_t version = 0;         // of the routes wanted last
    std::int64_t read_back_at_us = 0;  // when all tables were last read; 0: never
    std::uint64_t opensm_rewrite = 0;
  };
  struct Audits {
    RouteAudit& wanted;  // of what is to be written,
    RouteAudit& seen;    // and of what switches hold
    QuietThreads& quiet;
  };
  // The references outlive it. silent: devices that did not answer the last sweep.
  SubnetRoutes(const SubnetContext& context, const SubnetLinks& links, const ObservedLinks& observed,
               PortActivation& ports, Audits audits, const std::set<Guid>& silent, Carried carried);

  // Errors, here and below: the connection failed.
  // Routes for what is there now, and tables to match.
  Result<void> bring_to_wanted(const ClusterState& state, const RepairCause& cause);
  // LIDs come from the routes' scope: where there are no routes yet, bring_to_wanted() activates ports.
  Result<void> bring_up_ports();
  void report_drains(const ClusterState& state) const;
  // Whose tables are in force, to the control loop; unknown: why nothing is known of the subnet now ("": it is).
  void report_in_force(const ClusterState& state, const std::string& unknown = {});

  // What can wait until the subnet is quiet.
  void audit();  // starts the whole audit and shows what it found
  // Reads tables again when OpenSM has settled, and compares them.
  Result<void> check_opensm(const ClusterState& state, const SubnetInbox::OpensmNews& news);
  // Where routes may be spread again, proposes it; once that is decided, writes the next few blocks of it.
  Result<void> keep_balanced(const ClusterState& state);
  // Where it is asked for, compares the engine of these routes with the others, shows it, and proposes the better one.
  void keep_engines_compared(const ClusterState& state);
  // Looks at some switches, all of them from time to time: tables that differ are programmed, what the walk over all of
  // them loses raises an alarm. True: the walk differs from what was found, so that everything is to be read again.
  Result<bool> look_some(const ClusterState& state);

  [[nodiscard]] const WantedRoutes& wanted() const { return wanted_; }
  [[nodiscard]] const AppliedTables& applied() const { return applied_; }
  [[nodiscard]] const OpensmMatch& opensm() const { return opensm_; }
  // Another number whenever OpenSM is to write all its forwarding tables again.
  [[nodiscard]] std::uint64_t opensm_rewrite() const { return opensm_rewrite_; }
  // Tables and lanes wanted now may be written: they passed the audit as they are, and the mode has their lanes.
  [[nodiscard]] bool are_cleared() const { return cleared().has_value(); }
  // What switches hold may be made what is wanted, or what is wanted may have to be made again: bring_to_wanted() has
  // something to do. By what is known to differ, not by what was reported as changed.
  [[nodiscard]] bool have_work() const;
  // What the sweep found of switches. Then the phase follows from what is known.
  void set_presences(SwitchPresences presences) { presences_ = std::move(presences); }
  [[nodiscard]] const SwitchPresences& presences() const { return presences_; }
  void show_phase();
  [[nodiscard]] bool are_quiet() const { return wanted_.are_quiet(context_.now()); }
  [[nodiscard]] Carried carried() const { return {wanted_.version(), read_back_at_us_, opensm_rewrite_}; }
  // Called before switches get other tables than they hold, the wanted ones. Error: the connection failed.
  using BeforeWriting = std::function<Result<void>(const ClusterState&)>;
  void before_writing(BeforeWriting before) { before_writing_ = std::move(before); }
  // Called before tables are written that need several lanes, in direct mode. Not set: ports are taken to have them.
  void ready_lanes_by(RouteLanes::Ready ready) { lanes_.ready = std::move(ready); }
  // Once ports have the tables for several lanes, routes that need them are written.
  Result<void> keep_lanes(const ClusterState& state);
  // Routes for which ports are to be made ready meanwhile; null: those wanted.
  [[nodiscard]] FabricRoutesPtr waiting_for_lanes() const {
    return lanes_.are_lacking() && context_.options.several_lanes ? lanes_.several : nullptr;
  }

  void forget_applied();
  // The ends of a cable whose state changed are looked at again.
  void touch_ends_of(fabric::LinkId link);
  // Links have changed, so that routes to switches that did not answer may be others: they are asked again before the time of the next
  // attempt, but not before what else was reported is repaired.
  void note_changed_links();
  [[nodiscard]] bool owe_attempt() const { return unknown_.owes_attempt; }
  Result<void> ask_unanswered(const ClusterState& state);
  // Switches that did not answer what was written to them. Told once.
  [[nodiscard]] std::vector<Guid> take_unanswered() { return std::exchange(unknown_.unanswered, {}); }
  // The link is back: a switch that was off may have lost its tables.
  void doubt_ends_of(fabric::LinkId link);

 private:
  Result<void> choose_base(const ClusterState& state);
  [[nodiscard]] FabricRoutesPtr single_of(const ClusterState& state) const;
  Result<WantedRoutes::Update> compute_wanted(const ClusterState& state, const fabric::FabricView& view);
  void doubt_engine(const std::string& refusal);  // "": ports take the lanes of its routes
  void give_up_engine(const ClusterState& state);
  [[nodiscard]] std::string why_not_taken(const ClusterState& state, const ComparedView& made);
  void take_better(const ClusterState& state, ComparedView& made);
  void show_engines(EngineComparison comparison);
  void choose_lanes();
  bool use_one_lane(const std::string& why);
  Result<bool> ready_lanes(const ClusterState& state);  // false: nothing is to be written now
  // False: jobs that run may send by other service levels.
  bool tell_levels(const ClusterState& state);
  void keep_telling();
  [[nodiscard]] bool know_senders_levels(const ClusterState& state) const;
  [[nodiscard]] bool are_levels_told(const ClusterState& state) const;
  [[nodiscard]] std::string levels_told(const ClusterState& state) const;
  [[nodiscard]] std::string levels_name() const;
  void show_lanes();
  [[nodiscard]] fabric::FabricView view_of(const ClusterState& state) const;
  [[nodiscard]] std::vector<fabric::LinkId> misled() const;  // to write nothing into
  void show_wanted(WantedRoutes::Update update);
  [[nodiscard]] std::optional<ClearedRoutes> cleared() const;
  // The least that is known not to be as wanted, for the phase: "" where all of it was seen, recently, and is equal.
  [[nodiscard]] std::string missing_text() const;
  [[nodiscard]] std::string changes_text() const;
  // Switches whose tables are not known although they are there.
  [[nodiscard]] std::vector<fabric::SwitchId> unknown_present() const;

  Result<void> program(const ClusterState& state, const RepairCause& cause, std::int64_t computed_us);
  Result<void> program_beside(const ClusterState& state, const RepairCause& cause, std::int64_t computed_us,
                              const ClearedRoutes& cleared);
  Result<void> write_step(const ClusterState& state);
  [[nodiscard]] bool is_time_to_balance(const ClusterState& state) const;
  [[nodiscard]] BalanceInput balance_input(const ClusterState& state) const;
  void start_balance(const ClusterState& state);
  void start_following(const ClusterState& state);
  [[nodiscard]] bool are_left_alone(const ClusterState& state, const BalancedRoutes& made) const;
  void compare_with_opensm();
  Result<void> read_all();
  void note_unanswered(fabric::SwitchId sw);
  Result<void> read_returned();
  Result<void> read_back(std::span<const fabric::SwitchId> switches);
  [[nodiscard]] fabric::Lid top_to_read() const;  // in opensm mode also of LIDs that we do not route
  [[nodiscard]] std::vector<std::uint8_t> urgent(const ClusterState& state) const;
  fabric::ForwardingDelta delta_to(const ClearedRoutes& cleared, const ClusterState& state, bool took_over);
  [[nodiscard]] fabric::ForwardingDelta safe_delta(const fabric::Routing& to, fabric::DeltaOptions options) const;
  void leave_out_unknown(fabric::ForwardingDelta& delta);
  // None: nothing was written.
  Result<std::optional<fabric::ProgramReport>> write(const fabric::ForwardingDelta& delta, const RepairCause& cause,
                                                     std::int64_t computed_us);
  void note_earlier(const fabric::ForwardingDelta& delta, const fabric::ProgramReport& report);
  void record(const fabric::ForwardingDelta& delta, const fabric::ProgramReport& report, const RepairCause& cause,
              std::int64_t computed_us);
  void show_applied();
  void show_read();
  void show_ages();
  [[nodiscard]] std::vector<fabric::Lid> lids() const;  // of the end ports, where another subnet manager assigns them
  [[nodiscard]] KnownTables known_tables(const ClusterState& state);
  [[nodiscard]] const fabric::Routing* opensm_tables(const ClusterState& state);
  bool show_walk();
  void take_tables(std::vector<fabric::SwitchSight> sights);
  [[nodiscard]] bool differs_from_wanted() const;  // in opensm mode: and is ours to write

  const SubnetContext& context_;
  const SubnetLinks& links_;
  const ObservedLinks& observed_;
  PortActivation& ports_;
  const std::set<Guid>& silent_;
  WantedRoutes wanted_;
  AppliedTables applied_;
  OpensmMatch opensm_;
  AheadOfSweep ahead_;
  const Audits audits_;
  // How far routes are spread again.
  struct Steps {
    std::uint64_t compared_version = UINT64_MAX;  // of the state's view that was compared with fresh balance
    bool are_under_way = false;                   // they are being written, and nothing else has changed
    std::int64_t last_us = 0;
    // What hops were last looked for.
    PlacedJobs followed_jobs;
    std::uint64_t followed_version = UINT64_MAX;  // of the state's view
    std::int64_t followed_at_us = 0;              // 0: not yet
  };
  Steps steps_;
  // The engine that was taken.
  struct Taking {
    TakenEngine asked;          // by the state that the base is of
    std::string why_not;        // why it is to be given up; "": it is not
    std::int64_t said_us = 0;   // when that was reported; 0: not yet
    std::int64_t again_us = 0;  // unix: when engines are compared again, though nothing has changed; 0: not
  };
  Taking taking_;
  RouteLanes lanes_;
  std::uint64_t opensm_rewrite_;
  TruthProbe probe_;
  TablesInForce in_force_;
  struct OpensmTables {
    std::optional<fabric::Routing> routing;  // as read, in the numbers of the service's own routes
    std::uint64_t version = 0;               // of the readings that they are from
  };
  OpensmTables opensm_tables_;
  std::int64_t restless_until_us_ = 0;  // another subnet manager may be writing: tables are looked at more often
  std::int64_t differ_since_us_ = 0;    // in direct mode: tables are being written; 0: they are not
  bool was_read_whole_ = false;         // every switch that was there, at one time
  BeforeWriting before_writing_;
  SwitchPresences presences_;
  std::optional<TruthProbe::Verdict> verdict_;  // of the last walk
  std::int64_t read_back_at_us_;
  struct Unknown {
    std::vector<Guid> unanswered;  // told by take_unanswered()
    unsigned early_attempts = 0;   // that are left, as each waits for switches that may be gone
    bool owes_attempt = false;     // one of these
    std::int64_t retry_us = 0;     // when switches whose tables are not known may be read again
    std::vector<fabric::SwitchId>
        held_back;  // others that keep entries, as the way to a destination is by such switches
  } unknown_;
};

// What the state has of the subnet now, as a report that changes nothing.
RoutesRebalanced present_basis(const ClusterState& state, const std::string& subnet);

}  // namespace railweave::control
