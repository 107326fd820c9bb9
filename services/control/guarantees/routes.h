// Other routes on which guarantees at risk would hold: links that are too full are given a cost, by which the engine
// sends fewer destinations over them, and what all guarantees take is computed on the tables that come of it. Costs
// that are set (LinkCostsSet) are part of the view: routes follow from the fabric and from them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/control/events/event.h"
#include "services/control/views/guarantee_book.h"

namespace railweave::control {

struct RouteProposal {
  std::map<std::string, double> costs;  // LinkCosts::by_link, with those that are in force already
  std::vector<JobId> hold_again, still_at_risk;
  // Of guarantees that hold and are covered: failures would have to be covered anew on other routes.
  std::size_t lose_coverage = 0;
  std::uint64_t changed_entries = 0;  // of forwarding tables
  unsigned tried = 0;
};

// Of all that were tried the one that restores most without costing anybody else a guarantee, its tables audited:
// complete, and free of deadlock. No costs: none was found. The book is brought to the state. O(kMostRouteTries x
// routing from nothing). Errors: of routing.
inline constexpr unsigned kMostRouteTries = 8;
Result<RouteProposal> plan_guarantee_routes(const ClusterState& state, GuaranteeBook& book);

// And the alarm that costs are in force, or its end.
std::vector<EventBody> with_alarm(LinkCostsSet costs);

// Guarantees that hold and would not if no link had a cost. Errors: of routing.
Result<std::vector<JobId>> lapse_without_costs(const ClusterState& state, GuaranteeBook& book);

// Other routes at once, where Railweave programs the links' subnets itself and the fabric is small enough to look for
// them between commands. Looks once at each view and set of jobs at risk.
class GuaranteeReroute {
 public:
  static constexpr std::size_t kMostPortsAtOnce = 2'048;  // of adapters
  std::optional<LinkCostsSet> next(const ClusterState& state, GuaranteeBook& book);

 private:
  std::uint64_t view_version_ = 0;
  std::vector<JobId> at_risk_;
};

}  // namespace railweave::control
