// What a job needs besides its GPUs before it may start: the bandwidth of its guarantee. A cycle asks for every
// placement that it is about to make, in order, so that the gate counts the jobs it has let through.
#pragma once

#include <span>
#include <string>

#include "scheduler/placement/fit/placement.h"
#include "scheduler/queue/policy/queue_job.h"

namespace railweave::scheduler {

class StartGate {
 public:
  virtual ~StartGate() = default;
  // Empty: it may start there once `evicted` have ended, and counts as started. Else the reason for people, and nothing
  // has changed.
  virtual std::string start(const QueuedJob& job, const Placement& placement, std::span<const QueueJobId> evicted) = 0;
};

}  // namespace railweave::scheduler
