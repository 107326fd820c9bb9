// Where the ranks of one damaged job can move: free GPUs of the tree, and the spares that the job holds idle itself.
// Borrows the placer, whose tree it reads: what is taken there is no spare.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/placement/fit/fit_index.h"
#include "scheduler/placement/placer.h"
#include "scheduler/queue/repair/damaged_job.h"

namespace railweave::scheduler {

using RankBlock = std::vector<std::uint64_t>;  // ranks that share an NVLink domain

class Spares {
 public:
  Spares(Placer& placer, const DamagedJob& job, std::span<const fabric::GpuId> lost);

  [[nodiscard]] const std::vector<fabric::GpuId>& lost() const { return lost_; }
  [[nodiscard]] const std::vector<fabric::GpuId>& idle() const { return idle_; }  // held idle and not lost
  [[nodiscard]] bool is_lost(fabric::GpuId gpu) const { return std::ranges::binary_search(lost_, gpu); }
  [[nodiscard]] bool is_own(fabric::GpuId gpu) const { return std::ranges::binary_search(idle_, gpu); }
  [[nodiscard]] LeafIndex leaf_of(fabric::GpuId gpu) const;
  // For an exclusive job, the part that each leaf is in at its level; empty: the job is not exclusive.
  [[nodiscard]] std::span<const std::uint32_t> parts() const { return part_; }

  // Leaves of parts that no other job uses, by leaf; empty: the job is not exclusive.
  [[nodiscard]] std::span<const std::uint8_t> open_leaves() const { return open_; }

  // Up to `count` free GPUs of a leaf, the job's own where they are enough.
  [[nodiscard]] std::vector<fabric::GpuId> free_of(LeafIndex leaf, std::uint32_t count) const;
  // For one lost rank of a block: a GPU of the same NVLink domain, on the same node before others. `gpu_of_rank`: with
  // the moves so far.
  [[nodiscard]] std::optional<fabric::GpuId> in_domain(fabric::GpuId lost, const RankBlock& block,
                                                       std::span<const fabric::GpuId> gpu_of_rank) const;
  // `gpus` of the fullest part of one NVLink domain that has as many, inside the level's group around `old`; empty:
  // there is none.
  [[nodiscard]] std::vector<fabric::GpuId> near(LeafIndex old, std::uint32_t gpus, unsigned level) const;

 private:
  [[nodiscard]] bool open(LeafIndex leaf) const { return open_.empty() || open_[leaf] != 0; }
  void find_own_parts();
  [[nodiscard]] std::vector<fabric::GpuId> over_nodes(LeafIndex first, LeafIndex end, std::uint32_t gpus,
                                                      unsigned level) const;

  Placer& placer_;
  const fabric::Topology& topology_;
  const Hierarchy& hierarchy_;
  const DamagedJob& job_;
  std::vector<fabric::GpuId> lost_, idle_;  // ascending
  std::vector<std::uint32_t> part_;
  LeafFilter open_;  // leaves of parts that no other job uses; empty: all
};

}  // namespace railweave::scheduler
