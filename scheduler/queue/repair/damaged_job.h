// A running job that has lost GPUs. A view of what the caller keeps.
#pragma once

#include <cstdint>
#include <span>

#include "fabric/topology/ids.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/check/placement_check.h"

namespace railweave::scheduler {

struct DamagedJob {
  const JobSpec* spec = nullptr;
  std::span<const fabric::GpuId> gpu_of_rank;
  std::uint32_t block_gpus = 1;                   // Placement::block_gpus: number of ranks that share an NVLink domain
  std::span<const fabric::GpuId> idle_gpus = {};  // Placement::idle_gpus: its own spares, and what else it holds
  std::span<const fabric::GpuId> closed = {};     // where none of its ranks may move: reserved for others, maintenance
  const CutOff* cut_off = nullptr;                // whether its ranks could communicate; null: not checked
};

}  // namespace railweave::scheduler
