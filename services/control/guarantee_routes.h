// Other routes on which guarantees at risk would hold: links that are too full are given a cost, by which the engine
// sends fewer destinations over them, and what all guarantees take is computed on the tables that come of it. A
// proposal: nothing is changed by it, and no costs are kept; routes that are programmed follow from the fabric alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/control/guarantee_book.h"

namespace railweave::control {

struct RouteProposal {
  struct Cost {
    std::string link;
    double cost = 1;  // RoutingInput::link_cost: 2 takes half of the destinations
  };
  std::vector<Cost> costs;
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

}  // namespace railweave::control
