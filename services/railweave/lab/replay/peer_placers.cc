#include "services/railweave/lab/replay/peer_placers.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "fabric/base/draws.h"
#include "fabric/base/mix.h"

namespace railweave::cli {

using fabric::GpuId;
using fabric::LevelKind;
using scheduler::GroupIndex;
using scheduler::Hierarchy;

PeerPlacer::PeerPlacer(const scheduler::PlacementFabric& fabric, PeerPolicy policy)
    : fabric_(&fabric), policy_(policy) {
  const Hierarchy& hierarchy = fabric.hierarchy();
  for (Leaf leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
    free_.push_back(hierarchy.gpu_mask(leaf));
    free_gpus_ += static_cast<std::uint64_t>(std::popcount(free_.back()));
  }
}

std::uint32_t PeerPlacer::holds(Leaf leaf, std::uint32_t tensor) const {
  return static_cast<std::uint32_t>(std::popcount(free_[leaf])) / tensor;
}

std::uint64_t PeerPlacer::hold(Leaf begin, Leaf end, std::uint32_t tensor) const {
  std::uint64_t held = 0;
  for (Leaf leaf = begin; leaf < end; ++leaf) held += holds(leaf, tensor);
  return held;
}

std::vector<PeerPlacer::Leaf> PeerPlacer::random_order() const {
  std::vector<Leaf> order(free_.size());
  std::iota(order.begin(), order.end(), Leaf{0});
  std::ranges::shuffle(order, Draws(mix(taken_)));
  return order;
}

std::vector<PeerPlacer::Leaf> PeerPlacer::emptiest_first(unsigned level, Leaf begin, Leaf end, std::uint32_t tensor,
                                                         std::uint32_t groups) const {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  struct Below {
    std::uint64_t held;
    GroupIndex group;
  };
  std::vector<Below> below;
  for (Leaf leaf = begin; leaf < end;) {
    const GroupIndex group = hierarchy.group_of_leaf(level, leaf);
    const Leaf next = hierarchy.first_leaf(level, group + 1);
    below.push_back({hold(leaf, next, tensor), group});
    leaf = next;
  }
  std::vector<Leaf> order;
  std::uint64_t rest = groups;
  while (rest > 0 && !below.empty()) {
    auto next = std::ranges::max_element(below, {}, &Below::held);
    for (auto one = below.begin(); one != below.end(); ++one) {
      if (one->held >= rest && (next->held < rest || one->held < next->held)) next = one;
    }
    rest -= std::min(rest, next->held);
    for (Leaf leaf = hierarchy.first_leaf(level, next->group); leaf < hierarchy.first_leaf(level, next->group + 1);
         ++leaf) {
      order.push_back(leaf);
    }
    below.erase(next);
  }
  return order;
}

std::vector<PeerPlacer::Leaf> PeerPlacer::tree_order(std::uint32_t tensor, std::uint32_t groups) const {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  unsigned leaf_switch = hierarchy.level_of(LevelKind::leaf_group);
  if (leaf_switch == Hierarchy::kNoLevel) leaf_switch = hierarchy.host_level();
  for (unsigned level = leaf_switch; level < hierarchy.level_count(); ++level) {
    // The lowest switch with enough room below it, of several the one with least to spare.
    std::uint64_t least = UINT64_MAX;
    GroupIndex best = 0;
    for (GroupIndex group = 0; group < hierarchy.group_count(level); ++group) {
      const std::uint64_t held =
          hold(hierarchy.first_leaf(level, group), hierarchy.first_leaf(level, group + 1), tensor);
      if (held < groups || held >= least) continue;
      least = held;
      best = group;
    }
    if (least == UINT64_MAX) continue;
    return emptiest_first(leaf_switch, hierarchy.first_leaf(level, best), hierarchy.first_leaf(level, best + 1), tensor,
                          groups);
  }
  return {};
}

std::vector<PeerPlacer::Leaf> PeerPlacer::block_order(std::uint32_t tensor, std::uint32_t groups) const {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  unsigned base = hierarchy.level_of(LevelKind::nvlink_domain);
  if (base == Hierarchy::kNoLevel || base <= hierarchy.host_level()) base = hierarchy.level_of(LevelKind::leaf_group);
  if (base == Hierarchy::kNoLevel) base = hierarchy.host_level();
  const GroupIndex blocks = hierarchy.group_count(base);
  for (GroupIndex joined = 1;; joined *= 2) {
    std::uint64_t least = UINT64_MAX;
    bool could_hold = joined >= blocks;
    std::pair<Leaf, Leaf> best;
    for (GroupIndex first = 0; first < blocks; first += joined) {
      const Leaf begin = hierarchy.first_leaf(base, first);
      const Leaf end = hierarchy.first_leaf(base, first + std::min(joined, blocks - first));
      std::uint64_t empty = 0;
      for (Leaf leaf = begin; leaf < end; ++leaf) {
        empty += static_cast<std::uint64_t>(std::popcount(hierarchy.gpu_mask(leaf))) / tensor;
      }
      could_hold = could_hold || empty >= groups;
      const std::uint64_t held = hold(begin, end, tensor);
      if (held < groups || held >= least) continue;
      least = held;
      best = {begin, end};
    }
    if (least != UINT64_MAX) return emptiest_first(base, best.first, best.second, tensor, groups);
    if (could_hold) return {};
  }
}

std::vector<GpuId> PeerPlacer::place(std::uint32_t tensor, std::uint32_t groups) const {
  if (free_gpus_ < std::uint64_t{tensor} * groups) return {};
  std::vector<Leaf> order;
  if (policy_ == PeerPolicy::tree) {
    order = tree_order(tensor, groups);
  } else if (policy_ == PeerPolicy::block) {
    order = block_order(tensor, groups);
  } else if (policy_ == PeerPolicy::random) {
    order = random_order();
  } else {
    order.resize(free_.size());
    std::iota(order.begin(), order.end(), Leaf{0});
    if (policy_ == PeerPolicy::best_fit) {
      std::ranges::stable_sort(order, {}, [&](Leaf leaf) { return std::popcount(free_[leaf]); });
    }
  }
  std::vector<GpuId> gpus;
  std::uint32_t rest = groups;
  for (const Leaf leaf : order) {
    std::uint32_t count = std::min(rest, holds(leaf, tensor)) * tensor;
    rest -= count / tensor;
    const auto of_host = fabric_->topology().gpus(fabric_->hierarchy().host(leaf));
    for (std::uint64_t free = free_[leaf]; count > 0; --count, free &= free - 1) {
      gpus.push_back(of_host[static_cast<std::size_t>(std::countr_zero(free))]);
    }
    if (rest == 0) return gpus;
  }
  return {};
}

PeerPlacer::Leaf PeerPlacer::leaf_of(GpuId gpu) const {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  const auto host = fabric_->topology().host(gpu);
  Leaf leaf = hierarchy.host_first_leaf(host);
  while ((hierarchy.gpu_mask(leaf) >> fabric_->topology().local_index(gpu) & 1U) == 0) ++leaf;
  return leaf;
}

void PeerPlacer::take(std::span<const GpuId> gpus) {
  for (const GpuId gpu : gpus) free_[leaf_of(gpu)] &= ~(std::uint64_t{1} << fabric_->topology().local_index(gpu));
  free_gpus_ -= gpus.size();
  ++taken_;
}

void PeerPlacer::release(std::span<const GpuId> gpus) {
  for (const GpuId gpu : gpus) free_[leaf_of(gpu)] |= std::uint64_t{1} << fabric_->topology().local_index(gpu);
  free_gpus_ += gpus.size();
}

}  // namespace railweave::cli
