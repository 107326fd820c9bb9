#include "scheduler/placement/search/fewest_groups.h"

#include <algorithm>
#include <tuple>

namespace railweave::scheduler {

bool holds_more(const Held& a, const Held& b) { return std::tuple(b.pieces, a.group) < std::tuple(a.pieces, b.group); }

std::vector<GroupPortion> take_fewest(std::span<const Held> groups, std::uint64_t count) {
  std::vector<GroupPortion> portions;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].pieces < count) {
      portions.push_back({groups[i].group, groups[i].pieces});
      count -= groups[i].pieces;
      continue;
    }
    std::size_t last = i;
    while (last + 1 < groups.size() && groups[last + 1].pieces >= count) ++last;
    while (last > i && groups[last - 1].pieces == groups[last].pieces) --last;  // of equals the lowest number
    portions.push_back({groups[last].group, count});
    std::ranges::sort(portions, {}, &GroupPortion::group);
    return portions;
  }
  return {};
}

std::size_t groups_needed(std::span<const Held> groups, std::uint64_t count) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].pieces >= count) return i + 1;
    count -= groups[i].pieces;
  }
  return SIZE_MAX;
}

std::vector<GroupPortion> fewest_groups(BestFit& best_fit, const Hierarchy& hierarchy, const FitIndex& index,
                                        const JobShape& shape, unsigned level, unsigned from) {
  if (!shape.rungs.empty() && shape.rungs.back().level > level) return {};
  const bool in_pieces = !shape.rungs.empty();
  if (in_pieces) best_fit.count_pieces(index, shape.rungs, level);
  std::vector<Held> best;
  std::vector<Held> held;
  // The fewest; of as few the nearer, then where less is left over.
  std::tuple<std::size_t, unsigned, std::uint64_t> best_rating(SIZE_MAX, 0, 0);
  for (unsigned above = std::max(from, level + 1); above <= shape.max_level; ++above) {
    for (GroupIndex group = 0; group < hierarchy.group_count(above); ++group) {
      if (index.straddles(above, group))
        return {};  // there, the units of the parts do not add up to those of the group
      held.clear();
      std::uint64_t sum = 0;
      const LeafIndex end = hierarchy.first_leaf(above, group + 1);
      for (LeafIndex leaf = hierarchy.first_leaf(above, group); leaf < end;) {
        const GroupIndex here = hierarchy.group_of_leaf(level, leaf);
        const std::uint64_t pieces = in_pieces ? best_fit.pieces(level, here) : index.units(level, here);
        if (pieces > 0) held.push_back({here, pieces});
        sum += pieces;
        leaf = hierarchy.first_leaf(level, here + 1);
      }
      if (sum < shape.count) continue;
      std::ranges::sort(held, holds_more);
      const std::tuple rating(groups_needed(held, shape.count), above, sum);
      if (rating >= best_rating) continue;
      best_rating = rating;
      best.swap(held);
    }
  }
  return take_fewest(best, shape.count);
}

}  // namespace railweave::scheduler
