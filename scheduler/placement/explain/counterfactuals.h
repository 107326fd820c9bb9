// What smaller or looser job would fit where this one does not.
#pragma once

#include <vector>

#include "scheduler/placement/explain/explain.h"

namespace railweave::scheduler {

// Changes after which the job would be placed now, or failing that, at some other time: the most pipeline stages, the
// largest data parallelism, the next farther level for what a group requires, hosts back that the job or a drain
// excludes.
std::vector<Counterfactual> counterfactuals(const PlacementFabric& fabric, JobSearch& search, const Refusal& refusal);

}  // namespace railweave::scheduler
