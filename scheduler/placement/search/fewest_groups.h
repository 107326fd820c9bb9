// Another order of preferences than BestFit's: first the fewest groups of one level, wherever they are, and only then
// how near they are to each other. BestFit takes the nearest level that holds a job, and there perhaps more groups than
// the job would need elsewhere: three leaves of one pod where two whole ones are free in two.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/search/job_shape.h"

namespace railweave::scheduler {

struct GroupPortion {
  GroupIndex group = 0;
  std::uint64_t amount = 0;  // of the request's pieces
};

// Portions of groups of `level`, in order of groups: as few as hold the whole job, all inside one group of the nearest
// level from `from` up to the shape's farthest where there are that few; the last portion where least is left over.
// Empty where nothing holds the job, or where the request has pieces that reach beyond one group of the level.
// O(groups of the level).
std::vector<GroupPortion> fewest_groups(BestFit& best_fit, const Hierarchy& hierarchy, const FitIndex& index,
                                        const JobShape& shape, unsigned level, unsigned from);

}  // namespace railweave::scheduler
