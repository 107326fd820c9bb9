// What else a job needs beside its GPUs before it may start: bandwidth that its tenant was promised. Asked by a cycle
// for every placement it is about to make, in order, so that it can count what it has said yes to.
#pragma once

#include <span>
#include <string>

#include "scheduler/placement/fit/placement.h"
#include "scheduler/queue/policy/queue_job.h"

namespace railweave::scheduler {

class StartGate {
 public:
  virtual ~StartGate() = default;
  // "": it may start there once those are gone, and counts as started; else why not, for people, and nothing changed.
  virtual std::string start(const QueuedJob& job, const Placement& placement, std::span<const QueueJobId> evicted) = 0;
};

}  // namespace railweave::scheduler
