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
#include "services/control/live/ports/port_activation.h"
#include "services/control/live/routes/applied_tables.h"
#include "services/control/live/routes/opensm_match.h"
#include "services/control/live/routes/wanted_routes.h"

namespace railweave::control {

class SubnetRoutes {
 public:
  // What outlives a topology.
  struct Carried {
    std::uint64_t version = 0;         // of the routes wanted last
    std::int64_t read_back_at_us = 0;  // when all tables were last read; 0: never
  };
  // The references outlive it. silent: devices that did not answer the last sweep.
  SubnetRoutes(const SubnetContext& context, const SubnetLinks& links, const ObservedLinks& observed,
               PortActivation& ports, RouteAudit& audit, const std::set<Guid>& silent, Carried carried);

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
  enum class ReadBack : std::uint8_t { not_complete, complete };
  // Reads all tables from time to time, some switches per call; what differs is programmed. complete: the last of them.
  Result<ReadBack> read_back_some(const ClusterState& state);

  [[nodiscard]] const WantedRoutes& wanted() const { return wanted_; }
  [[nodiscard]] const AppliedTables& applied() const { return applied_; }
  [[nodiscard]] const OpensmMatch& opensm() const { return opensm_; }
  [[nodiscard]] bool are_quiet() const { return wanted_.are_quiet(context_.now()); }
  [[nodiscard]] Carried carried() const { return {wanted_.version(), read_back_at_us_}; }

  void forget_applied() { applied_.forget(); }
  // The link is back: a switch that was off may have lost its tables.
  void doubt_ends_of(fabric::LinkId link);

 private:
  Result<void> choose_base(const ClusterState& state);
  [[nodiscard]] fabric::FabricView view_of(const ClusterState& state) const;
  bool show_wanted(WantedRoutes::Update update);

  Result<void> program(const ClusterState& state, const RepairCause& cause, std::int64_t computed_us);
  Result<void> read_all();
  Result<void> read_returned();
  Result<void> read_back(std::span<const fabric::SwitchId> switches);
  [[nodiscard]] std::vector<std::uint8_t> urgent(const ClusterState& state) const;
  fabric::ForwardingDelta delta_to_wanted(const ClusterState& state, bool took_over);
  Result<bool> write(const fabric::ForwardingDelta& delta, const RepairCause& cause, std::int64_t computed_us);
  void record(const fabric::ForwardingDelta& delta, const fabric::ProgramReport& report, const RepairCause& cause,
              std::int64_t computed_us);
  void show_applied();
  void show_read();

  const SubnetContext& context_;
  const SubnetLinks& links_;
  const ObservedLinks& observed_;
  PortActivation& ports_;
  const std::set<Guid>& silent_;
  WantedRoutes wanted_;
  AppliedTables applied_;
  OpensmMatch opensm_;
  std::int64_t read_back_at_us_;
  std::int64_t retry_unknown_us_ = 0;  // when switches whose tables are not known may be read again
};

}  // namespace railweave::control
