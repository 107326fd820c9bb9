// The load of a promise, whichever its kind, on the fabric as it is and after any single failure.
#pragma once

#include <functional>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/capacity/reservation.h"

namespace railweave::fabric {

struct PromisedLoad {
  LoadVector loads;
  bool complete = true;        // every port reaches every other, every flow arrives
  std::size_t flow_links = 0;  // links that took a maximum flow
};

// `loads` and `walker` are of the same view and tables.
PromisedLoad load_of_promise(const Reservation& reservation, HoseLoads& loads, const PathWalker& walker);

// Tables as they would be with the link down as well.
using RouteWithout = std::function<Result<ForwardingTables>(LinkId)>;

struct SurvivingLoad {
  PromisedLoad worst;  // link by link the largest load, of no failure and of each one
  std::vector<LinkId> covered;
  std::vector<LinkId> not_covered;  // their loss cuts ports of the job off from each other: its own cables, above all
};

// Failures of links that the job does not cross leave its routes as they are: tables depend on what is alive, entries
// change only where their nominal way is dead. Only those it crosses are tried. The largest load link by link is never
// less than what any one failure needs; several jobs' largest loads add up to more than one failure can ask for.
// O(links crossed x (reroute + load)). Errors: those of route_without.
Result<SurvivingLoad> load_surviving_failures(const Reservation& reservation, HoseLoads& loads,
                                              const RouteWithout& route_without);

}  // namespace railweave::fabric
