// Which jobs to move so that whole NVLink domains come free, the best value first: GPUs freed for each GPU second that
// checkpointing and restarting the moved jobs costs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "scheduler/placement/placer.h"
#include "scheduler/queue/policy/queue_job.h"
#include "scheduler/queue/repair/repair.h"

namespace railweave::scheduler {

struct JobMove {
  QueueJobId job = 0;
  std::vector<RankMove> ranks;             // that change their GPU
  std::vector<fabric::GpuId> gpu_of_rank;  // afterwards
  double cost_gpu_s = 0;                   // all its GPUs, for as long as it is down
};

struct DefragmentStep {
  std::vector<JobMove> moves;
  std::vector<fabric::NvlinkDomainId> frees;  // wholly free afterwards
  std::uint64_t freed_gpus = 0;               // of those domains
  double cost_gpu_s = 0;
};

struct DefragmentOptions {
  std::size_t most_steps = 16;
  std::size_t most_jobs_per_step = 8;
  // How long a job is down for a move; by default as for all. None: the job may not be moved.
  std::function<std::optional<double>(const RunningJob&)> restart_s = [](const RunningJob&) { return 300.0; };
  // GPUs that the job may not move to: reserved for others, under maintenance. None: there are none.
  std::function<std::vector<fabric::GpuId>(const RunningJob&)> closed;
  std::function<CutOff(const RunningJob&)> cut_off;  // whether its ranks could communicate; none: not checked
};

// In this order: each step applies to the state after the steps before it. The tree is as it was when this returns.
std::vector<DefragmentStep> plan_defragmentation(Placer& placer, std::span<const RunningJob> running,
                                                 const DefragmentOptions& options = {});

}  // namespace railweave::scheduler
