// The routes that one subnet is to have: computed for the links that are there, verified before they may be programmed,
// and audited whole afterwards. Of one accepted topology; used by the stepping thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/routing/audit/old_levels.h"
#include "services/control/live/links/subnet_context.h"
#include "services/control/live/routes/route_audit.h"

namespace railweave::control {

// Tables and lanes that may be written to switches, as they are: they passed the audit, and the subnet has the lanes
// that they need. The one gate before every write: only WantedRoutes makes one. Valid until the next compute().
class ClearedRoutes {
 public:
  [[nodiscard]] const fabric::Routing& routing() const { return routing_; }

 private:
  friend class WantedRoutes;
  explicit ClearedRoutes(const fabric::Routing& routing) : routing_(routing) {}
  const fabric::Routing& routing_;
};

// The most lanes that routes of one of these planes use.
unsigned lanes_used_by(const fabric::Routing& routing, std::span<const fabric::PlaneId> planes);

class WantedRoutes {
 public:
  // version: the last one of the topology before; versions name routes to the audit, which outlives topologies.
  WantedRoutes(RouteAudit& audit, std::uint64_t version) : audit_(audit), version_(version) {}

  // The routes of the accepted topology as it was accepted, from which all others are computed.
  [[nodiscard]] const FabricRoutesPtr& base() const { return base_; }
  // switches: of this subnet. What engines make of others' is neither verified here nor a reason to write nothing.
  void set_base(FabricRoutesPtr base, std::span<const fabric::SwitchId> switches);
  // What senders know, where it is not what the routes before have.
  void set_known_lanes(fabric::Lanes lanes) { known_lanes_ = std::move(lanes); }

  struct Update {
    bool is_verified = false;  // else fault() says why not
    bool is_same = false;      // the tables are those wanted before
  };
  // misled: cables of end ports that lead elsewhere, into which nothing is sent.
  // Error: there are no routes for this view; those wanted before stay, and are not cleared.
  Result<Update> compute(fabric::FabricView view, std::vector<fabric::LinkId> misled, std::uint64_t view_version,
                         std::int64_t now_us);
  // Routes on another basis than those wanted now, for the compute() that will ask for it.
  void prepare(FabricRoutesPtr routes) { prepared_ = std::move(routes); }
  [[nodiscard]] const std::vector<fabric::PlaneId>& planes() const { return planes_; }
  // There is nothing to route for this version of the state's view.
  void skip(std::uint64_t view_version) { view_version_ = view_version; }

  [[nodiscard]] bool exist() const { return routing_.has_value(); }
  [[nodiscard]] const fabric::Routing& routing() const { return *routing_; }  // while they exist()
  // As the engine has made them, to compute others from: without what is dropped for misled().
  [[nodiscard]] const fabric::Routing& made() const { return made_ ? *made_ : *routing_; }
  [[nodiscard]] const std::vector<fabric::LinkId>& misled() const { return misled_; }
  [[nodiscard]] unsigned lanes_used() const;  // by this subnet's; while they exist()
  [[nodiscard]] const fabric::FabricView& view() const { return view_; }
  [[nodiscard]] std::uint64_t view_version() const { return view_version_; }  // of the state they are for
  [[nodiscard]] std::uint64_t version() const { return version_; }            // changes with the tables
  [[nodiscard]] const std::string& fault() const { return fault_; }           // ""; else why they fail the audit
  [[nodiscard]] bool are_impossible() const { return is_impossible_; }        // for the view asked for last
  // None: they may not be written. lanes: how many the subnet has for them.
  [[nodiscard]] std::optional<ClearedRoutes> cleared(unsigned lanes) const;
  // What senders meet on these that keep the service levels of those before; none: all use one lane, or there were none
  // before.
  [[nodiscard]] const std::optional<fabric::OldLevels>& old_levels() const { return old_levels_; }
  [[nodiscard]] std::optional<std::uint64_t> unreachable_pairs() const { return unreachable_pairs_; }
  // Nothing was computed for a moment: there is time for what can wait.
  [[nodiscard]] bool are_quiet(std::int64_t now_us) const;

  // Starts the whole audit where these tables have none yet and none is running. True: it was started.
  bool start_audit();
  // The audit that finished since this was last asked, if it is of these tables.
  std::optional<AuditedRoutes> take_audit();

 private:
  bool verify(const fabric::Routing& routing);
  void judge_old_levels(const fabric::Routing& now, bool is_verified);

  RouteAudit& audit_;
  FabricRoutesPtr base_, prepared_;
  std::vector<fabric::PlaneId> planes_;            // of the subnet
  std::optional<fabric::Routing> routing_, made_;  // made_: where it is another
  std::vector<fabric::LinkId> misled_;             // of routing_
  fabric::FabricView view_;                        // of routing_
  std::uint64_t version_;
  std::uint64_t view_version_ = UINT64_MAX;
  std::int64_t computed_at_us_ = 0;
  std::string fault_;
  std::optional<fabric::Lanes> known_lanes_;  // to senders; none: those of routing_
  std::optional<fabric::OldLevels> old_levels_;
  bool is_audited_ = false, is_impossible_ = false;
  std::optional<std::uint64_t> unreachable_pairs_;  // none: not audited yet
};

}  // namespace railweave::control
