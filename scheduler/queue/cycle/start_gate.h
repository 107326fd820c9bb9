// What a job needs besides its GPUs before it may start: the bandwidth of its guarantee. A cycle asks for every
// placement that it is about to make, in order, so that the gate counts the jobs it has let through.
#pragma once

#include <span>

#include "fabric/base/message.h"
#include "scheduler/placement/fit/placement.h"
#include "scheduler/placement/placer.h"
#include "scheduler/queue/policy/queue_job.h"

namespace railweave::scheduler {

class StartGate {
 public:
  virtual ~StartGate() = default;
  // Empty: it may start there once `evicted` have ended, and counts as started. Else the reason for people, and nothing
  // has changed. Where the placement will not do, it may become another one of GPUs that are free in the placer's tree,
  // which is afterwards as it was.
  virtual Message start(const QueuedJob& job, Placement& placement, std::span<const QueueJobId> evicted,
                        Placer& placer) = 0;
};

}  // namespace railweave::scheduler
