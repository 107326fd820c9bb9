// Which jobs to evict so that another job fits, simulated on the tree: the job is known to fit the topology before a
// victim is named. Of the sets that free enough, one of the lowest priority (its highest member counts), then the one
// that loses least work (GPUs x time since the last checkpoint); it contains no victim that could stay.
//
// Greedy orders give a first set (cheapest jobs first; host by host, domain by domain, rack by rack, cheapest to clear
// first; inside one group that could hold the job), each reduced by restoring victims one by one, the most expensive
// first. From the best of them branch and bound (least_loss.h) goes on to the least, for as much work as a cycle has: of a
// dozen candidates always, of hundreds mostly.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/placer.h"
#include "scheduler/queue/policy/queue_job.h"

namespace railweave::scheduler {

struct PossibleVictim {  // may be evicted for this job
  QueueJobId id = 0;
  std::int32_t priority = 0;
  double lost_gpu_s = 0;
  std::span<const fabric::GpuId> gpus;
};

struct Eviction {
  std::vector<std::size_t> victims;  // indices of candidates, rising
  double lost_gpu_s = 0;
};

struct PreemptionQuestion {
  std::span<const PossibleVictim> candidates;
  std::uint64_t gpus = 0;  // of the job
  // Does the job fit the tree as it is now? Never stops being so when more is freed.
  std::function<bool()> fits;
  // May these be evicted together, as quotas go; what holds for a set holds for its subsets. None: yes.
  std::function<bool(std::span<const std::size_t>)> allowed;
  // Is there quota for the job once these are gone; what holds for a set holds for what contains it. None: yes.
  std::function<bool(std::span<const std::size_t>)> enough;
};

// The tree is as it was when it returns. None: no allowed set frees enough.
std::optional<Eviction> plan_preemption(Placer& placer, const PreemptionQuestion& question);

}  // namespace railweave::scheduler
