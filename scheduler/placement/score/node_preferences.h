// What a job's preferences make of each leaf, and of a place: how much longer it may take for a better one to be no better.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/fit_index.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

// carries_labels() by leaf.
LeafFilter carrying_labels(const PlacementFabric& fabric, const std::map<std::string, std::string>& selector);

class NodePreferences {
 public:
  NodePreferences() = default;  // of a job without preferences
  NodePreferences(const PlacementFabric& fabric, const JobSpec& spec);

  [[nodiscard]] bool any() const { return !unmet_.empty(); }
  // Of one of its GPUs; 0 where there are no preferences.
  [[nodiscard]] double unmet(LeafIndex leaf) const { return any() ? unmet_[leaf] : 0; }
  // The mean over the ranks of the weights that their nodes leave unmet, as a part of the time: 0.2 for one of 20 percent.
  [[nodiscard]] double unmet(std::span<const fabric::GpuId> gpu_of_rank) const;
  // Leaves that leave at most so much unmet, the least first, without the one that has all leaves. At most kMaxTiers.
  [[nodiscard]] std::vector<std::shared_ptr<const LeafFilter>> tiers() const;

 private:
  static constexpr std::size_t kMaxTiers = 4;

  const PlacementFabric* fabric_ = nullptr;
  std::vector<double> unmet_;  // by leaf; empty: there are no preferences
};

// "12 of 64 ranks are on nodes without tier=gold (weight 20)", by preference that is not met by all ranks. O(ranks + nodes used).
std::vector<std::string> unmet_preferences(const fabric::Topology& topology, const JobSpec& spec,
                                           std::span<const fabric::GpuId> gpu_of_rank);

}  // namespace railweave::scheduler
