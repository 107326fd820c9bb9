// The routes of one subnet: computed for what is there, programmed where the mode allows it, read back and audited. Of
// one accepted topology; used by the stepping thread.
//
//   link states, drains -> wanted routes -> verified -> delta to the applied tables -> programmed -> read back
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "fabric/routing/delta/forwarding_delta.h"
#include "services/control/live/links/observed_links.h"
#include "services/control/live/links/switch_presence.h"
#include "services/control/live/ports/port_activation.h"
#include "services/control/live/routes/applied_tables.h"
#include "services/control/live/routes/opensm_match.h"
#include "services/control/live/routes/truth_probe.h"
#include "services/control/live/routes/wanted_routes.h"

namespace railweave::control {

class SubnetRoutes {
 public:
  // What outlives a topology.
  struct Carried {
    std::uint64_t version = 0;         // of the routes wanted last
    std::int64_t read_back_at_us = 0;  // when all tables were last read; 0: never
  };
  struct Audits {
    RouteAudit& wanted;  // of what is to be written,
    RouteAudit& seen;    // and of what switches hold
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

  // What can wait until the subnet is quiet.
  void audit();  // starts the whole audit and shows what it found
  // Reads tables again when OpenSM has settled, and compares them.
  Result<void> check_opensm(const ClusterState& state, const SubnetInbox::OpensmNews& news);
  // Looks at some switches, all of them from time to time: tables that differ are programmed, what the walk over all of
  // them loses raises an alarm. True: the walk differs from what was found, so that everything is to be read again.
  Result<bool> look_some(const ClusterState& state);

  [[nodiscard]] const WantedRoutes& wanted() const { return wanted_; }
  [[nodiscard]] const AppliedTables& applied() const { return applied_; }
  [[nodiscard]] const OpensmMatch& opensm() const { return opensm_; }
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
  [[nodiscard]] Carried carried() const { return {wanted_.version(), read_back_at_us_}; }

  void forget_applied();
  // The ends of a cable whose state changed are looked at again.
  void touch_ends_of(fabric::LinkId link);
  // The link is back: a switch that was off may have lost its tables.
  void doubt_ends_of(fabric::LinkId link);

 private:
  Result<void> choose_base(const ClusterState& state);
  [[nodiscard]] fabric::FabricView view_of(const ClusterState& state) const;
  void show_wanted(WantedRoutes::Update update);
  [[nodiscard]] std::optional<ClearedRoutes> cleared() const;
  // The least that is known not to be as wanted, for the phase: "" where all of it was seen, recently, and is equal.
  [[nodiscard]] std::string missing_text() const;
  // Switches whose tables are not known although they are there.
  [[nodiscard]] std::vector<fabric::SwitchId> unknown_present() const;

  Result<void> program(const ClusterState& state, const RepairCause& cause, std::int64_t computed_us);
  Result<void> read_all();
  Result<void> read_returned();
  Result<void> read_back(std::span<const fabric::SwitchId> switches);
  [[nodiscard]] fabric::Lid top_to_read() const;  // in opensm mode also of LIDs that we do not route
  [[nodiscard]] std::vector<std::uint8_t> urgent(const ClusterState& state) const;
  fabric::ForwardingDelta delta_to(const ClearedRoutes& cleared, const ClusterState& state, bool took_over);
  Result<bool> write(const fabric::ForwardingDelta& delta, const RepairCause& cause, std::int64_t computed_us);
  void record(const fabric::ForwardingDelta& delta, const fabric::ProgramReport& report, const RepairCause& cause,
              std::int64_t computed_us);
  void show_applied();
  void show_read();
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
  TruthProbe probe_;
  SwitchPresences presences_;
  std::optional<TruthProbe::Verdict> verdict_;  // of the last walk
  std::int64_t read_back_at_us_;
  std::int64_t retry_unknown_us_ = 0;  // when switches whose tables are not known may be read again
};

}  // namespace railweave::control
