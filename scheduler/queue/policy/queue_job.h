// Jobs as the queue sees them: views of what the caller keeps, so that a cycle over 10,000 of them copies no spec.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fabric/topology/ids.h"
#include "scheduler/job/job_spec.h"

namespace railweave::scheduler {

using QueueJobId = std::uint64_t;  // the number of control::JobId; 0: none

struct QueuedJob {
  QueueJobId id = 0;
  const JobSpec* spec = nullptr;
  std::int64_t submitted_us = 0;   // kept when it is evicted, so that it keeps its place in the queue
  std::int64_t not_before_us = 0;  // earliest start
  std::uint64_t turn = 0;          // among those submitted at once; 0: its id
  std::string held = {};           // why it must not start; "": it may
  [[nodiscard]] std::uint64_t in_turn() const { return turn == 0 ? id : turn; }
  bool awaits_release = false;  // jobs make way for it already: no others are evicted for it meanwhile
  // Until when it waits for a better place, since it first had one (QueuePolicy::place_wait); 0: it had none yet.
  std::int64_t place_until_us = 0;
  std::span<const fabric::GpuId> kept = {};  // the place that the last cycle kept for it; empty: none is known
  bool takes_any_place = false;              // it does not wait for a better one
  bool keeps_place = false;                  // it kept one at last: where that is not known, it is found again first
};

struct RunningJob {
  QueueJobId id = 0;
  const JobSpec* spec = nullptr;
  std::int64_t started_us = 0;
  std::int64_t saved_us = 0;            // its last checkpoint; 0: none since its start. Later work is lost on eviction.
  std::span<const fabric::GpuId> gpus;  // all that it holds: one per rank in rank order, then the idle ones
  std::int64_t releases_us = 0;         // it makes way or ends already, by then at the latest; 0: it runs
};

}  // namespace railweave::scheduler
