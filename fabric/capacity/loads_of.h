// The load of a reservation, hose or pattern, on the present fabric and after any single link failure.
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
  PromisedLoad worst;  // the largest load of each link, without a failure and after each one
  std::vector<LinkId> covered;
  std::vector<LinkId> not_covered;  // their failure disconnects ports of the job, as that of its own cables does
};

// What a reservation needs to survive failures, computed by a caller that has the routes.
using SurvivingLoadOf = std::function<Result<SurvivingLoad>(const Reservation&)>;

// Only failures of links that the job crosses are tried: others do not change its routes, because tables depend on the
// live links alone and an entry changes only where its nominal next hop is dead. The largest load of each link is never
// less than what any one failure needs; the sum over several jobs may be more than any one failure needs.
// For each failure only the changed routes are computed (hose_routes.h). Errors: those of changes_without.
Result<SurvivingLoad> load_surviving_failures(const Reservation& reservation, HoseLoads& loads,
                                              const ChangesWithout& changes_without);

}  // namespace railweave::fabric
