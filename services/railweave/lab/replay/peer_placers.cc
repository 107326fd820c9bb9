#include "services/railweave/lab/replay/peer_placers.h"

#include <algorithm>
#include <bit>
#include <numeric>

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

std::vector<PeerPlacer::Leaf> PeerPlacer::tree_order(std::uint32_t tensor, std::uint32_t groups) const {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  unsigned leaf_switch = hierarchy.level_of(LevelKind::leaf_group);
  if (leaf_switch == Hierarchy::kNoLevel) leaf_switch = hierarchy.host_level();
  for (unsigned level = leaf_switch; level < hierarchy.level_count(); ++level) {
    // The lowest switch with enough room below it, of several the one with least to spare.
    std::uint64_t least = UINT64_MAX;
    GroupIndex best = 0;
    for (GroupIndex group = 0; group < hierarchy.group_count(level); ++group) {
      std::uint64_t held = 0;
      for (Leaf leaf = hierarchy.first_leaf(level, group); leaf < hierarchy.first_leaf(level, group + 1); ++leaf) {
        held += holds(leaf, tensor);
      }
      if (held < groups || held >= least) continue;
      least = held;
      best = group;
    }
    if (least == UINT64_MAX) continue;
    // Its leaf switches, emptiest first, except that the last one is the fullest that holds the rest.
    struct Below {
      std::uint64_t held;
      GroupIndex group;
    };
    std::vector<Below> below;
    const Leaf end = hierarchy.first_leaf(level, best + 1);
    for (Leaf leaf = hierarchy.first_leaf(level, best); leaf < end; ++leaf) {
      const GroupIndex group = hierarchy.group_of_leaf(leaf_switch, leaf);
      if (below.empty() || below.back().group != group) below.push_back({0, group});
      below.back().held += holds(leaf, tensor);
    }
    std::vector<Leaf> order;
    std::uint64_t rest = groups;
    while (rest > 0 && !below.empty()) {
      auto next = std::ranges::max_element(below, {}, &Below::held);
      for (auto one = below.begin(); one != below.end(); ++one) {
        if (one->held >= rest && (next->held < rest || one->held < next->held)) next = one;
      }
      rest -= std::min(rest, next->held);
      for (Leaf leaf = hierarchy.first_leaf(leaf_switch, next->group);
           leaf < hierarchy.first_leaf(leaf_switch, next->group + 1); ++leaf) {
        order.push_back(leaf);
      }
      below.erase(next);
    }
    return order;
  }
  return {};
}

std::vector<GpuId> PeerPlacer::place(std::uint32_t tensor, std::uint32_t groups) const {
  if (free_gpus_ < std::uint64_t{tensor} * groups) return {};
  std::vector<Leaf> order;
  if (policy_ == PeerPolicy::tree) {
    order = tree_order(tensor, groups);
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
}

void PeerPlacer::release(std::span<const GpuId> gpus) {
  for (const GpuId gpu : gpus) free_[leaf_of(gpu)] |= std::uint64_t{1} << fabric_->topology().local_index(gpu);
  free_gpus_ += gpus.size();
}

}  // namespace railweave::cli
