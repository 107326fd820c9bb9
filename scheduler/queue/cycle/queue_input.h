// What one cycle of the queue decides on. Views of what the caller keeps for as long as the cycle runs.
#pragma once

#include <cstdint>
#include <span>

#include "scheduler/queue/cycle/best_places.h"
#include "scheduler/queue/cycle/start_gate.h"
#include "scheduler/queue/policy/fair_share.h"
#include "scheduler/queue/policy/queue_job.h"
#include "scheduler/queue/policy/queue_policy.h"

namespace railweave::scheduler {

struct QueueInput {
  const QueuePolicy* policy = nullptr;  // that check_queue_policy() accepts
  std::span<const QueuedJob> queued;    // in any order; specs that check_job_spec() accepts
  std::span<const RunningJob> running;  // each holding its GPUs in the allocations
  const FairShare* used = nullptr;      // for FairShareRule::decayed; null: no tenant has used anything
  std::int64_t now_us = 0;
  StartGate* gate = nullptr;   // null: GPUs are all a job needs
  BestPlaces* best = nullptr;  // null: no job waits for a better place. QueueCycle::run() sets it.
  bool explain = true;         // attach the placement's own explanation to the first job that does not fit
};

}  // namespace railweave::scheduler
