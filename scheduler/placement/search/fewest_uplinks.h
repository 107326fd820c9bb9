// Between the nearest place and the fewest groups: a job over several leaf groups of several pods sends over the uplinks of
// each leaf group and of each pod, so one leaf group more is worth one pod less. BestFit takes the fewest pods, broken leaf
// groups and all; fewest_groups() whole leaf groups of many pods.
#pragma once

#include <span>
#include <vector>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/search/fewest_groups.h"
#include "scheduler/placement/search/job_shape.h"

namespace railweave::scheduler {

// Portions of groups of `level`, in order of groups, that cross fewer groups and groups of the level above taken together
// than `fewest`, which is of fewest_groups() for the same question. Empty: none were found. The groups above are tried by
// what the job could have of each, so it is a heuristic. O(groups of the level).
std::vector<GroupPortion> fewest_uplinks(BestFit& best_fit, const Hierarchy& hierarchy, const FitIndex& index,
                                         const JobShape& shape, unsigned level, std::span<const GroupPortion> fewest);

}  // namespace railweave::scheduler
