// A running job that moves to other GPUs, so that another one starts or whole NVLink domains come free: offered, accepted by
// its launcher, freed like a job that makes way, then placed where its new GPUs were held for it. Moves of one plan are made
// together or not at all.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "fabric/base/message.h"
#include "fabric/topology/ids.h"
#include "services/control/state/job_id.h"

namespace railweave::control {

struct Move {
  std::uint64_t plan = 0;                  // a number that its plan's moves share
  JobId in_favour_of;                      // the job that starts; 0: NVLink domains come free
  std::vector<fabric::GpuId> gpu_of_rank;  // its place afterwards; ids of the topology of the state
  double lost_gpu_s = 0;                   // work since its checkpoint when it was offered
  std::int64_t deadline_us = 0;            // of the offer
  bool accepted = false;
  Message reason;
  friend bool operator==(const Move&, const Move&) = default;
};

struct MoveCharge {
  std::int64_t time_us = 0;
  double lost_gpu_s = 0;
};

struct MoveBook {
  static constexpr std::int64_t kBudgetPeriod_us = 3600LL * 1'000'000;

  std::map<fabric::GpuId, JobId> held;  // places of moves, for whom
  std::set<JobId> jobs;                 // with a move
  std::deque<MoveCharge> charges;       // moves that began within the last period, the oldest first
};

}  // namespace railweave::control
