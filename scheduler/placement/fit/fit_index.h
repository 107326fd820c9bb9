// How many blocks of one shape every group of a hierarchy holds now, ordered for best-fit. Kept by PlacementTree, one
// per shape in use, and brought up to date from the tree's log of changed leaves: O(levels) per changed leaf.
//
// A block is what must stay whole: `block` GPUs inside one NVLink domain (a tensor group), straddling its hosts up to
// level `straddle_top`. With `per_node` = k every host used gives exactly k of its GPUs; then what is counted (the
// *unit*) is
//   k a multiple of the block: k GPUs of one host, made of whole blocks, at most one unit per host;
//   the block a multiple of k: the block, made of k GPUs from each of block / k hosts of one NVLink domain.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/placement/fit/hierarchy.h"
#include "scheduler/placement/fit/ordered_buckets.h"

namespace railweave::scheduler {

using LeafFilter = std::vector<std::uint8_t>;  // by leaf: not 0 where a job may go

struct FitShape {
  std::uint32_t block = 1;
  bool nvlink = false;         // a block of more than one GPU needs NVLink; without, it may be any GPUs of one leaf
  unsigned straddle_top = 0;   // the highest level in one group of which a block may straddle leaves
  std::uint32_t per_node = 0;  // 0: as many as fit
  std::uint32_t grain = 1;     // a straddling block takes multiples of this of each leaf; divides the block
  std::shared_ptr<const LeafFilter> filter;  // none: everywhere
  friend bool operator==(const FitShape&, const FitShape&) = default;
};

class FitIndex {
 public:
  FitIndex(const Hierarchy& hierarchy, FitShape shape, std::span<const std::uint32_t> free_of_leaf);

  [[nodiscard]] const FitShape& shape() const { return shape_; }
  [[nodiscard]] std::uint32_t unit_gpus() const { return unit_gpus_; }
  // Whole units that the group holds now.
  [[nodiscard]] std::uint32_t units(unsigned level, GroupIndex group) const {
    return units_of(level, group, levels_[level].value[group]);
  }
  // What units are made of and counted down from: free GPUs in a group where blocks may straddle, hosts with k free
  // GPUs, or units themselves. Among groups of as many units, less value is less left over.
  [[nodiscard]] std::uint32_t value(unsigned level, GroupIndex group) const { return levels_[level].value[group]; }
  [[nodiscard]] std::uint32_t value_per_unit(unsigned level, GroupIndex group) const {
    return levels_[level].divisor[group];
  }
  // May a unit straddle the children of this group?
  [[nodiscard]] bool straddles(unsigned level, GroupIndex group) const { return levels_[level].raw[group] != 0; }

  // The group of at least `units` (> 0) units with the fewest, then the least value, then inside the fullest groups, then
  // the lowest number.
  [[nodiscard]] std::optional<GroupIndex> best_fit(unsigned level, std::uint64_t units) const;
  [[nodiscard]] std::uint32_t most_units(unsigned level) const;  // of any group
  // Whether the groups around `a` are fuller than those around `b`: the nearest at which they differ in value counts.
  [[nodiscard]] bool fuller_around(unsigned level, GroupIndex a, GroupIndex b) const;
  // The first groups that hold no less than `than`: of one value by number, then those of the next value.
  void next_fits(unsigned level, GroupIndex than, std::size_t count, std::vector<GroupIndex>& groups) const;

  // Groups of a level by value, where that order is the order by units and the level is wide enough to be worth it.
  [[nodiscard]] const OrderedBuckets* by_value(unsigned level) const {
    return levels_[level].buckets.enabled() ? &levels_[level].buckets : nullptr;
  }
  // The most units of one group that count: 1 where every host gives exactly `per_node`.
  [[nodiscard]] std::uint32_t unit_cap(unsigned level) const { return levels_[level].unit_cap; }
  [[nodiscard]] std::uint32_t uniform_divisor(unsigned level) const { return levels_[level].uniform_divisor; }

  void update(LeafIndex leaf, std::uint32_t free);

 private:
  struct LevelCounts {
    std::vector<std::uint32_t> value;
    std::vector<std::uint32_t> divisor;  // value per unit; 0: this group never holds a unit
    std::vector<std::uint8_t> raw;       // children add their value, not their units
    std::uint32_t uniform_divisor = 0;   // of all groups that can hold a unit; 0: they differ
    std::uint32_t unit_cap = UINT32_MAX;
    OrderedBuckets buckets;
  };

  void choose_divisors();
  [[nodiscard]] bool untouched(unsigned level, GroupIndex group) const {
    const std::uint64_t units = units_of(level, group, levels_[level].value[group]);
    return hierarchy_->uniform(level, group) && units * unit_gpus_ == hierarchy_->capacity(level, group);
  }
  [[nodiscard]] GroupIndex fullest_around(unsigned level, std::uint32_t key) const;
  [[nodiscard]] std::uint32_t leaf_value(LeafIndex leaf, std::uint32_t free) const;
  [[nodiscard]] std::uint32_t units_of(unsigned level, GroupIndex group, std::uint32_t value) const {
    const std::uint32_t divisor = levels_[level].divisor[group];
    if (divisor == 0) return 0;
    const std::uint32_t units = divisor == 1 ? value : value / divisor;
    return units < levels_[level].unit_cap ? units : levels_[level].unit_cap;
  }
  [[nodiscard]] std::uint32_t contribution(unsigned level, GroupIndex group, GroupIndex parent,
                                           std::uint32_t value) const;

  const Hierarchy* hierarchy_;
  FitShape shape_;
  std::uint32_t unit_gpus_ = 1;
  std::vector<LevelCounts> levels_;
};

}  // namespace railweave::scheduler
