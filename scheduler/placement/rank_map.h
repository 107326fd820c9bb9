// Where each rank of a placed job runs and through which adapters it sends. Made on demand from what a job stores (its
// parallelism and the GPU of each rank), so nothing of it needs to be kept. Borrows both arguments; read-only.
#pragma once

#include <cstdint>
#include <span>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

struct Rank {
  std::uint64_t rank = 0;
  RankCoordinates at;
  fabric::HostId host;
  fabric::GpuId gpu;
  unsigned local_gpu = 0;        // index on its host
  std::span<const GpuNic> nics;  // nearest first; valid as long as the PlacementFabric
  bool nics_assumed = false;     // no affinity is known for this host: adapters dealt evenly
};

class RankMap {
 public:
  RankMap(const PlacementFabric& fabric, const Parallelism& parallelism, std::span<const fabric::GpuId> gpu_of_rank)
      : fabric_(&fabric), parallelism_(parallelism), gpu_of_rank_(gpu_of_rank) {}

  [[nodiscard]] std::size_t size() const { return gpu_of_rank_.size(); }
  [[nodiscard]] const Parallelism& parallelism() const { return parallelism_; }
  [[nodiscard]] Rank operator[](std::uint64_t rank) const;  // rank < size(); O(1)

 private:
  const PlacementFabric* fabric_;
  Parallelism parallelism_;
  std::span<const fabric::GpuId> gpu_of_rank_;
};

}  // namespace railweave::scheduler
