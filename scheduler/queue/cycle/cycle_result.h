// What one cycle of the queue decides: which jobs start where, which are evicted for them, and why the others wait.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/base/message.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement.h"
#include "scheduler/queue/cycle/wait_reason.h"
#include "scheduler/queue/policy/queue_job.h"

namespace railweave::scheduler {

// How a job's wait for a better place ended.
enum class PlaceWaitEnd : std::uint8_t {
  none,        // it did not wait for one
  better,      // a place got free that is good enough
  over,        // its time is over
  equal_next,  // a later job with the same claim would have gone first
};

struct StartedJob {
  QueueJobId job = 0;
  Placement placement;
  bool passed_others = false;  // backfilled: an earlier job waits for GPUs
  PlaceWaitEnd waited = PlaceWaitEnd::none;
  std::vector<QueueJobId> evicted;        // whose GPUs it needs: apply these evictions first
  std::optional<Parallelism> shape = {};  // that it takes, of a job with several
  [[nodiscard]] Message reason() const;   // for the job's history: "GPUs are free", "backfilled ..."
};

struct EvictedJob {
  QueueJobId job = 0;
  QueueJobId in_favour_of = 0;
  double lost_gpu_s = 0;   // work since its last checkpoint
  bool reclaimed = false;  // its tenant had borrowed GPUs that the other tenant owns; false: it had lower priority
  [[nodiscard]] Message reason() const;
};

struct WaitingJob {
  QueueJobId job = 0;
  WaitReason reason;
  std::int8_t told = -1;  // as QueuedJob has it
};

// GPUs that no other job is given while this one waits for better ones; none where jobs yield them.
struct KeptGpus {
  QueueJobId job = 0;
  std::vector<fabric::GpuId> gpus;
  std::int64_t until_us = 0;
};

struct CycleResult {
  std::vector<StartedJob> starts;
  std::vector<EvictedJob> evictions;
  std::vector<WaitingJob> waiting;  // in the order of the queue
  std::vector<KeptGpus> kept;
  // Until this time another cycle decides the same, unless jobs or nodes change; 0: no such time is known.
  std::int64_t wake_us = 0;
  std::uint64_t placements_tried = 0;
  std::uint64_t shapes = 0;  // different ones among the queued jobs
};

}  // namespace railweave::scheduler
