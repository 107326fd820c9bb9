// How far leaves are from the GPUs of a job: by the lowest level at which one of them is in the same group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

class LevelDistance {
 public:
  // O(GPUs x levels + groups). Borrows the fabric.
  LevelDistance(const PlacementFabric& fabric, std::span<const fabric::GpuId> gpus) : hierarchy_(&fabric.hierarchy()) {
    has_gpu_.resize(hierarchy_->level_count());
    for (unsigned level = 0; level < has_gpu_.size(); ++level) {
      has_gpu_[level].assign(hierarchy_->group_count(level), 0);
      for (const auto gpu : gpus) has_gpu_[level][hierarchy_->group_of_leaf(level, fabric.leaf(gpu))] = 1;
    }
  }

  // The level; the topmost where they share no group.
  [[nodiscard]] unsigned of(LeafIndex leaf) const {
    unsigned level = 0;
    while (level < hierarchy_->top() && has_gpu_[level][hierarchy_->group_of_leaf(level, leaf)] == 0) ++level;
    return level;
  }

 private:
  const Hierarchy* hierarchy_;
  std::vector<std::vector<std::uint8_t>> has_gpu_;  // by level and group
};

}  // namespace railweave::scheduler
