// The load of a promise, whichever its kind, on the fabric as it is and after any single failure.
#pragma once

#include <functional>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/capacity/reservation.h"
#include "fabric/capacity/route_changes.h"

namespace railweave::fabric {

struct PromisedLoad {
  LoadVector loads;
  bool complete = true;        // every port reaches every other, every flow arrives
  std::size_t flow_links = 0;  // links that took a maximum flow
};

// `loads` and `walker` are of the same view and tables.
PromisedLoad load_of_promise(const Reservation& reservation, HoseLoads& loads, const PathWalker& walker);

struct SurvivingLoad {
  PromisedLoad worst;  // link by link the largest load, of no failure and of each one
  std::vector<LinkId> covered;
  std::vector<LinkId> not_covered;  // their loss cuts ports of the job off from each other: its own cables, above all
};

// What a reservation needs to survive failures, for who has the routes at hand.
using SurvivingLoadOf = std::function<Result<SurvivingLoad>(const Reservation&)>;

// Failures of links that the job does not cross leave its routes as they are: tables depend on what is alive, entries
// change only where their nominal way is dead. Only those it crosses are tried. The largest load link by link is never
// less than what any one failure needs; several jobs' largest loads add up to more than one failure can ask for.
// Of each failure only what it changes is looked at (hose_routes.h). Errors: those of changes_without.
Result<SurvivingLoad> load_surviving_failures(const Reservation& reservation, HoseLoads& loads,
                                              const ChangesWithout& changes_without);

}  // namespace railweave::fabric
