// Free GPUs that no waiting job can use: in pieces too small, or in groups too full, for any of the jobs given. A lower
// bound: a GPU that some job could use counts as usable, even if two jobs would compete for it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/fit/placement_tree.h"
#include "scheduler/queue/policy/queue_job.h"

namespace railweave::scheduler {

struct StrandedGpus {
  std::uint64_t free = 0;
  std::uint64_t stranded = 0;
  struct Beside {
    QueueJobId job = 0;
    std::uint64_t gpus = 0;  // stranded ones that it shares a node with; or, where no job is on it, the nearest group
  };
  std::vector<Beside> beside;  // most first; a GPU counts for every job beside it
};

// `jobs`: one of each shape that matters: what is queued, or a mix of sizes. None: everything free is stranded.
// `running`: jobs to name beside stranded GPUs; may be empty. O(leaves x jobs + GPUs of running jobs).
StrandedGpus find_stranded(const PlacementFabric& fabric, PlacementTree& tree, std::span<const JobSpec* const> jobs,
                           std::span<const RunningJob> running = {});

}  // namespace railweave::scheduler
