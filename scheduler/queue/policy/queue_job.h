// Jobs as the queue sees them: views of what the caller keeps, so that a cycle over 10,000 of them copies no spec.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "fabric/topology/ids.h"
#include "scheduler/job/job_spec.h"

namespace railweave::scheduler {

using QueueJobId = std::uint64_t;  // the number of control::JobId; 0: none

// What a cycle reads of the spec of every job, where the caller keeps it: specs lie all over the memory, so that reading
// 10,000 of them takes longer than all else (job_digests.h). Equal numbers stand for equal tenants, equal priorities and
// equal shapes (same_shape()) of one caller.
struct JobDigest {
  std::uint32_t tenant = 0;  // from 1 on; 0: there is no digest, and the spec is read
  std::uint32_t priority = 0, shape = 0;
  std::uint64_t gpus = 0;  // of its ranks
  std::optional<std::int64_t> expected_duration_s = {};
};

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
  JobDigest digest = {};
  std::int8_t told = -1;  // means nothing to the cycle: handed back with the reason for which it waits
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
