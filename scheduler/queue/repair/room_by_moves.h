// Which running jobs to move, and where to, so that a waiting job has a place: the moves that lose the fewest GPU seconds.
// Every moved job goes to GPUs that are free now, or stays on some of its own, so that each move can be made without any
// other; the waiting job takes what is free after all of them.
//
// A first set is the cheapest eviction that makes room (preemption.h), which no set of moves can undercut. Where its jobs
// have no other place, sets are tried from the cheapest on. Both, and the places for one set, are searched within bounds:
// the least is found for a dozen small jobs, a good plan for hundreds.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/placement/placer.h"
#include "scheduler/queue/policy/queue_job.h"

namespace railweave::scheduler {

struct MovableJob {
  QueueJobId id = 0;
  const JobSpec* spec = nullptr;
  std::span<const fabric::GpuId> gpus;  // one per rank; a job that holds idle GPUs is not movable
  double lost_gpu_s = 0;                // its GPUs x time since its checkpoint
};

struct RoomOptions {
  static constexpr std::size_t kMaxTries = 1'000;  // placements asked for
  static constexpr std::size_t kMaxSets = 2'000;   // sets of jobs looked at

  std::size_t most_moves = 8;
  double most_lost_gpu_s = std::numeric_limits<double>::infinity();
  // GPUs that the job may not be given; 0: the waiting one. None: there are none.
  std::function<std::vector<fabric::GpuId>(QueueJobId)> closed;
  // Whether the place is good enough for the waiting job. None: every place is.
  std::function<bool(const Placement&)> accepts;
};

struct RoomMove {
  std::size_t job = 0;                     // of the movable ones
  std::vector<fabric::GpuId> gpu_of_rank;  // afterwards
};
struct RoomPlan {
  std::vector<RoomMove> moves;
  Placement place;  // of the waiting job, afterwards
  double lost_gpu_s = 0;
};

// None: it fits without a move, or nothing was found. The tree is as it was when this returns.
std::optional<RoomPlan> plan_room(Placer& placer, const JobSpec& waiting, std::span<const MovableJob> movable,
                                  const RoomOptions& options = {});

}  // namespace railweave::scheduler
