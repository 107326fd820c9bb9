#include "scheduler/placement/search/fewest_uplinks.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>

namespace railweave::scheduler {
namespace {

constexpr std::size_t kMaxParts = 12;  // that a job is tried over
constexpr std::size_t kLastTried = 6;  // parts that are tried as the last one

struct Part {                 // a group of the level above
  std::vector<Held> groups;   // the most first
  std::uint64_t pieces = 0;   // of all of them
  std::uint64_t for_job = 0;  // of those that the job could use at most
};

// Lists of most first, joined.
std::vector<Held> joined(const std::vector<Held>& a, const std::vector<Held>& b) {
  std::vector<Held> both(a.size() + b.size());
  std::ranges::merge(a, b, both.begin(), holds_more);
  return both;
}

// The parts of the group that `fewest` is in, those that hold most for the job first.
std::vector<Part> parts_around(BestFit& best_fit, const Hierarchy& hierarchy, const FitIndex& index,
                               const JobShape& shape, unsigned level, std::span<const GroupPortion> fewest) {
  const LeafIndex first = hierarchy.first_leaf(level, fewest.front().group);
  const LeafIndex last = hierarchy.first_leaf(level, fewest.back().group);
  unsigned around = level + 1;
  while (hierarchy.group_of_leaf(around, first) != hierarchy.group_of_leaf(around, last)) ++around;
  if (around == level + 1) return {};
  const GroupIndex inside = hierarchy.group_of_leaf(around, first);
  if (index.straddles(around, inside)) return {};
  std::vector<Part> parts;
  const LeafIndex end = hierarchy.first_leaf(around, inside + 1);
  for (LeafIndex leaf = hierarchy.first_leaf(around, inside); leaf < end;) {
    const GroupIndex part = hierarchy.group_of_leaf(level + 1, leaf);
    Part& made = parts.emplace_back();
    for (; leaf < end && hierarchy.group_of_leaf(level + 1, leaf) == part;) {
      const GroupIndex group = hierarchy.group_of_leaf(level, leaf);
      const std::uint64_t pieces = shape.rungs.empty() ? index.units(level, group) : best_fit.pieces(level, group);
      if (pieces > 0) made.groups.push_back({group, pieces});
      made.pieces += pieces;
      leaf = hierarchy.first_leaf(level, group + 1);
    }
    std::ranges::sort(made.groups, holds_more);
    for (std::size_t i = 0; i < std::min(made.groups.size(), fewest.size()); ++i) made.for_job += made.groups[i].pieces;
  }
  std::ranges::stable_sort(parts, std::greater(), &Part::for_job);
  return parts;
}

}  // namespace

std::vector<GroupPortion> fewest_uplinks(BestFit& best_fit, const Hierarchy& hierarchy, const FitIndex& index,
                                         const JobShape& shape, unsigned level, std::span<const GroupPortion> fewest) {
  if (fewest.size() < 2) return {};
  const std::vector<Part> parts = parts_around(best_fit, hierarchy, index, shape, level, fewest);
  std::size_t crossed = fewest.size();
  GroupIndex before = UINT32_MAX;
  for (const GroupPortion& portion : fewest) {
    const GroupIndex part = hierarchy.group_of_leaf(level + 1, hierarchy.first_leaf(level, portion.group));
    if (part != before) ++crossed;
    before = part;
  }
  std::vector<Held> first, best;  // of the parts so far
  std::size_t best_at = 0;
  for (std::size_t i = 0; i < std::min(parts.size(), kMaxParts); ++i) {
    // The last one may hold less than the next in turn: large parts are for larger jobs.
    std::tuple<std::size_t, std::uint64_t> least(SIZE_MAX, 0);
    for (std::size_t last = i; last < std::min(parts.size(), i + kLastTried); ++last) {
      std::vector<Held> groups = joined(first, parts[last].groups);
      const std::size_t needed = groups_needed(groups, shape.count);
      if (needed == SIZE_MAX || std::tuple(needed, parts[last].pieces) >= least) continue;
      least = {needed, parts[last].pieces};
      // A job in one part crosses none.
      if (const std::size_t all = needed + (i == 0 ? 0 : i + 1); all < crossed) {
        crossed = all;
        best = std::move(groups);
        best_at = i;
      } else if (all == crossed && !best.empty() && best_at == i) {
        best = std::move(groups);  // its last part is smaller
      }
    }
    if (std::get<0>(least) <= fewest.size()) break;
    first = joined(first, parts[i].groups);
  }
  return take_fewest(best, shape.count);
}

}  // namespace railweave::scheduler
