// Repair of guarantees at risk by other routes: links that are too full get a cost, which makes the routing engine send
// fewer destinations over them; then all guarantees are computed on the resulting tables. Costs in force (LinkCostsSet)
// are part of the view, so routes follow from the fabric and the costs alone. Used by FollowUp, decide() and the API.
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
  std::map<std::string, double> costs;  // LinkCosts::by_link, including those already in force
  std::vector<JobId> hold_again, still_at_risk;
  // Guarantees that hold and are covered now: their failures would have to be covered again on the other routes.
  std::size_t lose_coverage = 0;
  std::uint64_t changed_entries = 0;  // of forwarding tables
  unsigned tried = 0;
};

// Of up to kMaxRouteTries sets of costs the one that restores most guarantees without putting another one at risk and
// whose tables are verified by the audit. No costs in the result: none was found. Brings the book to the state.
// O(kMaxRouteTries x routing from scratch). Errors: of routing.
inline constexpr unsigned kMaxRouteTries = 8;
Result<RouteProposal> plan_guarantee_routes(const ClusterState& state, GuaranteeBook& book);

// The event, followed by the alarm that costs are in force, or by the end of that alarm.
std::vector<EventBody> with_alarm(LinkCostsSet costs);

// Jobs whose guarantee holds now and would be at risk without costs of links. Errors: of routing.
Result<std::vector<JobId>> lapse_without_costs(const ClusterState& state, GuaranteeBook& book);

// Sets costs automatically where Railweave programs the links' subnets itself and the fabric is small enough to search
// between commands. Searches once for each view and set of jobs at risk. Owned by FollowUp; on the control thread.
class GuaranteeReroute {
 public:
  static constexpr std::size_t kMaxPorts = 2'048;  // of adapters, in the fabric
  std::optional<LinkCostsSet> next(const ClusterState& state, GuaranteeBook& book);

 private:
  std::uint64_t view_version_ = 0;
  std::vector<JobId> at_risk_;
};

}  // namespace railweave::control
