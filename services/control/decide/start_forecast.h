// When waiting jobs are expected to start: the cycles of the queue run ahead on a copy of the allocations, in which each
// running job ends when it is expected to, and its guarantee with it. Nothing else is expected to happen: no job comes,
// none ends sooner or later, no link fails. Pure; changes nothing. Not thread-safe: one per thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/control/decide/queue_runner.h"

namespace railweave::control {

struct ExpectedStart {
  static constexpr std::size_t kMaxEnds = 20;
  // An end that has to come first: the job had GPUs that this one gets, or held what its tenant may hold.
  struct End {
    JobId job;
    std::string tenant;
    std::int64_t at_us = 0;
    bool assumed = false;  // the job does not say how long it runs, or runs for longer than it said
  };
  std::int64_t at_us = 0;          // 0: not known
  Message unknown;                 // then why
  std::vector<End> ends;           // in time order, the last kMaxEnds of them
  std::uint64_t earlier_ends = 0;  // before those
  std::uint64_t assumed_ends = 0;  // of all
};

struct StartForecasts {
  std::map<JobId, ExpectedStart> by_job;  // of every job that waits
  // The first thing that is expected to happen: until then the forecast stays what it is, if the state does.
  std::int64_t valid_until_us = 0;
};

class StartForecast {
 public:
  // How far it looks: the sum, over cycles, of the jobs that each looks at.
  static constexpr std::uint64_t kMaxJobsLookedAt = 300'000;

  // Of all jobs that wait; or, where `only` is given, of that job alone: it waits with them, submitted last.
  StartForecasts of(const ClusterState& state, std::int64_t now_us, PlacerCache& placers,
                    const scheduler::JobSpec* only = nullptr);

  // The id that `only` has in the answer.
  static JobId candidate(const ClusterState& state) { return state.jobs.next_id(); }

 private:
  scheduler::PlacementFabricPtr fabric_;  // of cycle_
  std::unique_ptr<scheduler::QueueCycle> cycle_;
};

}  // namespace railweave::control
