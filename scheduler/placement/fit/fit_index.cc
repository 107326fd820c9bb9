#include "scheduler/placement/fit/fit_index.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::scheduler {
namespace {

// Below this number of groups a linear scan is as fast as the buckets.
constexpr std::uint32_t kLeastGroupsForBuckets = 48;

}  // namespace

FitIndex::FitIndex(const Hierarchy& hierarchy, FitShape shape, std::span<const std::uint32_t> free_of_leaf)
    : hierarchy_(&hierarchy), shape_(std::move(shape)), levels_(hierarchy.level_count()) {
  RAILWEAVE_CHECK(shape_.block > 0, "a block has GPUs");
  const std::uint32_t k = shape_.per_node;
  RAILWEAVE_CHECK(k == 0 || k % shape_.block == 0 || shape_.block % k == 0, "blocks and hosts are cut alike");
  RAILWEAVE_CHECK(shape_.block % shape_.grain == 0, "a block is made of whole grains");
  unit_gpus_ = k > shape_.block ? k : shape_.block;
  choose_divisors();
  for (unsigned level = 0; level < levels_.size(); ++level) {
    auto& values = levels_[level].value;
    values.assign(hierarchy.group_count(level), 0);
    if (level == 0) {
      for (LeafIndex leaf = 0; leaf < values.size(); ++leaf) values[leaf] = leaf_value(leaf, free_of_leaf[leaf]);
    } else {
      const auto& below = levels_[level - 1].value;
      for (GroupIndex child = 0; child < below.size(); ++child) {
        const GroupIndex group = hierarchy.parent(level - 1, child);
        values[group] += contribution(level - 1, child, group, below[child]);
      }
    }
    // The bitmaps take about a bit per key and group; a level with few huge groups among many small ones is not worth
    // it.
    const std::uint32_t groups = hierarchy.group_count(level);
    const std::size_t words = (std::size_t{hierarchy.max_capacity(level)} + 1) * (groups / 64 + 1);
    if (groups < kLeastGroupsForBuckets || levels_[level].uniform_divisor == 0) continue;
    if (words > 4096 + hierarchy.total_capacity() / 8) continue;
    levels_[level].buckets = OrderedBuckets(groups, hierarchy.max_capacity(level));
    for (GroupIndex group = 0; group < groups; ++group) levels_[level].buckets.move(group, 0, values[group]);
  }
}

void FitIndex::choose_divisors() {
  const std::uint32_t b = shape_.block;
  const std::uint32_t k = shape_.per_node;
  const unsigned host_level = hierarchy_->host_level();
  for (unsigned level = 0; level < levels_.size(); ++level) {
    auto& counts = levels_[level];
    const std::uint32_t groups = hierarchy_->group_count(level);
    counts.divisor.assign(groups, 1);
    counts.raw.assign(groups, 0);
    for (GroupIndex group = 0; group < groups; ++group) {
      const bool pooled = hierarchy_->pooled(level, group);
      auto& divisor = counts.divisor[group];
      if (level == 0) {
        const bool usable = b == 1 || !shape_.nvlink || pooled;
        divisor = !usable ? 0 : k == 0 ? b : k >= b ? k : b / k;
      } else if (k != 0 && k >= b) {
        if (level == host_level) divisor = k;  // children add the GPUs of their whole blocks
      } else if (b > 1 && pooled && level <= shape_.straddle_top) {
        divisor = k == 0 ? b : b / k;
        counts.raw[group] = 1;
      }
    }
    if (k != 0 && k >= b && level <= host_level) counts.unit_cap = 1;
    for (const auto divisor : counts.divisor) {
      if (divisor == 0) continue;
      counts.uniform_divisor = counts.uniform_divisor == 0 || counts.uniform_divisor == divisor ? divisor : UINT32_MAX;
    }
    // Groups without units have values, too: they would be found in the buckets.
    if (counts.uniform_divisor == UINT32_MAX || std::ranges::find(counts.divisor, 0U) != counts.divisor.end()) {
      counts.uniform_divisor = 0;
    }
  }
}

std::uint32_t FitIndex::leaf_value(LeafIndex leaf, std::uint32_t free) const {
  if (shape_.filter && (*shape_.filter)[leaf] == 0) return 0;
  if (shape_.per_node != 0 && shape_.per_node < shape_.block) return free >= shape_.per_node ? 1 : 0;
  return shape_.grain == 1 ? free : free / shape_.grain * shape_.grain;
}

std::uint32_t FitIndex::contribution(unsigned level, GroupIndex group, GroupIndex parent, std::uint32_t value) const {
  if (levels_[level + 1].raw[parent] != 0) return value;
  if (level == 0 && hierarchy_->host_level() == 1 && shape_.per_node >= shape_.block) {
    return levels_[0].divisor[group] == 0 ? 0 : value / shape_.block * shape_.block;
  }
  return units_of(level, group, value);
}

void FitIndex::update(LeafIndex leaf, std::uint32_t free) {
  GroupIndex group = leaf;
  std::uint32_t after = leaf_value(leaf, free);
  for (unsigned level = 0;; ++level) {
    auto& counts = levels_[level];
    const std::uint32_t before = std::exchange(counts.value[group], after);
    if (before == after) return;
    if (counts.buckets.enabled()) counts.buckets.move(group, before, after);
    if (level + 1 == levels_.size()) return;
    const GroupIndex parent = hierarchy_->parent(level, group);
    const std::uint32_t gave = contribution(level, group, parent, before);
    const std::uint32_t gives = contribution(level, group, parent, after);
    if (gave == gives) return;
    after = levels_[level + 1].value[parent] - gave + gives;
    group = parent;
  }
}

std::optional<GroupIndex> FitIndex::best_fit(unsigned level, std::uint64_t units) const {
  const auto& counts = levels_[level];
  const auto groups = static_cast<GroupIndex>(counts.value.size());
  if (units > counts.unit_cap || units > hierarchy_->max_capacity(level)) return std::nullopt;
  const auto wanted = static_cast<std::uint32_t>(units);
  if (counts.buckets.enabled()) {
    const std::uint64_t least = std::uint64_t{wanted} * counts.uniform_divisor;
    if (least > hierarchy_->max_capacity(level)) return std::nullopt;
    const auto key = counts.buckets.key_from(static_cast<std::uint32_t>(least));
    return key ? std::optional(fullest_around(level, *key)) : std::nullopt;
  }
  std::optional<GroupIndex> best;
  std::pair<std::uint32_t, std::uint32_t> best_fit;
  for (GroupIndex group = 0; group < groups; ++group) {
    const std::pair fit(units_of(level, group, counts.value[group]), counts.value[group]);
    if (fit.first < wanted || (best && best_fit < fit)) continue;
    if (best && best_fit == fit && !fuller_around(level, group, *best)) continue;
    best = group;
    best_fit = fit;
  }
  return best;
}

bool FitIndex::fuller_around(unsigned level, GroupIndex a, GroupIndex b) const {
  for (; level + 1 < levels_.size(); ++level) {
    a = hierarchy_->parent(level, a);
    b = hierarchy_->parent(level, b);
    if (a == b) return false;
    const auto& values = levels_[level + 1].value;
    if (values[a] != values[b]) return values[a] < values[b];
  }
  return false;
}

// Of the groups of that value. Those inside one group that no job uses are all alike, so one of them stands for all: on a
// fabric that fills up group by group few are looked at.
GroupIndex FitIndex::fullest_around(unsigned level, std::uint32_t key) const {
  const auto& buckets = levels_[level].buckets;
  const auto end = static_cast<GroupIndex>(levels_[level].value.size());
  GroupIndex best = buckets.item_from(key, 0, end);
  if (level + 1 == levels_.size()) return best;
  for (GroupIndex group = best; group < end;) {
    if (fuller_around(level, group, best)) best = group;
    unsigned around = level + 1;
    GroupIndex outer = hierarchy_->parent(level, group);
    while (around + 1 < levels_.size() && untouched(around + 1, hierarchy_->parent(around, outer))) {
      outer = hierarchy_->parent(around++, outer);
    }
    GroupIndex next = outer + 1;  // the first group after `outer`, level by level down
    while (around > level) next = hierarchy_->first_child(around--, next);
    group = buckets.item_from(key, next, end);
  }
  return best;
}

void FitIndex::next_fits(unsigned level, GroupIndex than, std::size_t count, std::vector<GroupIndex>& groups) const {
  const auto& counts = levels_[level];
  const auto end = static_cast<GroupIndex>(counts.value.size());
  groups.clear();
  const std::pair least(units(level, than), counts.value[than]);
  if (!counts.buckets.enabled()) {
    for (GroupIndex group = 0; group < end; ++group) {
      if (group != than && std::pair(units(level, group), counts.value[group]) >= least) groups.push_back(group);
    }
    const std::size_t kept = std::min(count, groups.size());
    std::partial_sort(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(kept), groups.end(),
                      [&](GroupIndex a, GroupIndex b) {
                        return std::tuple(units(level, a), counts.value[a], a) <
                               std::tuple(units(level, b), counts.value[b], b);
                      });
    groups.resize(kept);
    return;
  }
  // One group of the same value, then the first of each following value: what is alike in every count is seldom better.
  GroupIndex same = counts.buckets.item_from(counts.value[than], than + 1, end);
  if (same == end) same = counts.buckets.item_from(counts.value[than], 0, than);
  if (same != end && same != than && count > 1) groups.push_back(same);
  for (auto key = counts.buckets.key_from(counts.value[than] + 1); key && groups.size() < count;
       key = counts.buckets.key_from(*key + 1)) {
    groups.push_back(counts.buckets.item_from(*key, 0, end));
  }
}

std::uint32_t FitIndex::most_units(unsigned level) const {
  std::uint32_t most = 0;
  for (GroupIndex group = 0; group < levels_[level].value.size(); ++group) most = std::max(most, units(level, group));
  return most;
}

}  // namespace railweave::scheduler
