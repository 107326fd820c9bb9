// What ran, beside what would have been with Railweave's placement: waits, spread, and GPU hours lost to places.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/placement/fit/placement_fabric.h"
#include "services/railweave/assess/running_jobs.h"
#include "services/railweave/lab/replay/replay.h"

namespace railweave::cli {

struct Interval {
  double mean = 0, low = 0, high = 0;  // 95%, by resampling jobs
};

struct PastMonth {
  std::size_t jobs = 0, without_gpus = 0, larger_than_fabric = 0, left_off = 0;
  double span_days = 0, gpu_h = 0;
  double mean_wait_s = 0, p95_wait_s = 0;
  bool whole_hosts = false;  // the accounting tells no GPUs, so all of each host are assumed
  std::size_t on_unknown_hosts = 0;
  std::set<std::string> unknown_hosts;
  // Of jobs of several hosts whose hosts the fabric has:
  std::size_t placed = 0, straddling = 0;
  Interval lost_gpu_h;                // by the predicted time of a step, relative to the best place on the empty fabric
  std::vector<ReplayReport> replays;  // railweave, and tree as Slurm places
};

inline constexpr std::size_t kMaxReplayed = 5'000;  // the newest

// gpus_per_host: of jobs where the accounting tells nodes and no job's GPUs; 0: these are left out. Where it tells those of one job,
// jobs without any had none.
PastMonth past_month(const scheduler::PlacementFabricPtr& fabric, const std::vector<PastJob>& jobs,
                     std::uint32_t gpus_per_host);

}  // namespace railweave::cli
