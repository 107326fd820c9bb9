// Splits of a job over several groups, each giving about as much. BestFit fills groups one after the other and the last
// one gets what is left, but a ring is as slow as the NVLink domain with the fewest adapters in it: 14+14+14+13 trays
// are several times faster than 18+18+18+1.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/search/fewest_groups.h"
#include "scheduler/placement/search/job_shape.h"

namespace railweave::scheduler {

// The level whose groups are what a ring counts members by: NVLink domains, or hosts where domains are no level.
unsigned ring_level(const Hierarchy& hierarchy);

struct EvenSplit {
  JobShape shape;                      // without what only larger pieces ask for, which the portions keep
  std::vector<GroupPortion> portions;  // of groups of ring_level(), in order of groups
};

struct EvenSplitQuestion {
  const JobShape* shape = nullptr;
  Fit inside;                // the group that holds the job
  std::uint64_t pieces = 1;  // that rings stay in, each split by itself: pipeline stages; 1: the job
  bool every_level = false;  // near-equal shares of leaf groups, pods... too, not of domains alone
};

// Over D groups, the fewest that hold a piece, of the ring level; for every level also over D + 1 and those above. None
// where BestFit's own split is as even or one group holds each piece. O(groups of the ring level inside the group).
std::vector<EvenSplit> even_splits(BestFit& best_fit, const Hierarchy& hierarchy, const FitIndex& index,
                                   const EvenSplitQuestion& question);

// Near-equal parts of `amount`, none above its capacity; the remainder goes to the first ones. Empty: they do not hold it.
std::vector<std::uint64_t> even_parts(const std::vector<std::uint64_t>& capacity, std::uint64_t amount);

}  // namespace railweave::scheduler
