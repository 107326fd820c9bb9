// Another order of preferences than BestFit's: first the fewest groups of one level, wherever they are, and only then
// how near they are to each other. BestFit takes the nearest level that holds a job, and there perhaps more groups than
// the job would need elsewhere: three leaves of one pod where two whole ones are free in two.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/search/job_shape.h"

namespace railweave::scheduler {

struct GroupPortion {
  GroupIndex group = 0;
  std::uint64_t amount = 0;  // of the request's pieces
};

// What a group could give.
struct Held {
  GroupIndex group;
  std::uint64_t pieces;
};
bool holds_more(const Held& a, const Held& b);  // of as much the lower number goes first
// How many of the groups, the most first, hold `count`; SIZE_MAX: all together hold less.
std::size_t groups_needed(std::span<const Held> groups, std::uint64_t count);
// As few of the groups, the most first, as hold `count`; the last one is the group with the least left over. Empty: all
// together hold less.
std::vector<GroupPortion> take_fewest(std::span<const Held> groups, std::uint64_t count);

// Portions of groups of `level`, in order of groups: as few as hold the whole job, all inside one group of the nearest
// level from `from` up to the shape's farthest where there are that few; the last portion where least is left over.
// Empty where nothing holds the job, or where the request has pieces that reach beyond one group of the level.
// O(groups of the level).
std::vector<GroupPortion> fewest_groups(BestFit& best_fit, const Hierarchy& hierarchy, const FitIndex& index,
                                        const JobShape& shape, unsigned level, unsigned from);

}  // namespace railweave::scheduler
