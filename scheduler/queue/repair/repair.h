// A node, GPU, adapter or link is lost under a running job: which ranks move where, as few as possible, all others
// keeping their GPUs. Ranks stay ranks: the job restarts from its checkpoint with the same numbering.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/error.h"
#include "scheduler/placement/placer.h"
#include "scheduler/queue/repair/damaged_job.h"
#include "scheduler/queue/repair/loss.h"

namespace railweave::scheduler {

struct RankMove {
  std::uint64_t rank = 0;
  fabric::GpuId from, to;
};

struct RepairPlan {
  std::vector<RankMove> moves;                          // by rank
  std::vector<fabric::GpuId> gpu_of_rank;               // afterwards
  std::vector<fabric::GpuId> idle_gpus;                 // held beside them afterwards, rising
  fabric::LevelKind nearest = fabric::LevelKind::node;  // the farthest move stays inside one group of this level
  bool moved_whole = false;  // no repair keeps what the job requires: the placer places the whole job again
};

// Uses spares of the same NVLink domain first, the job's own before what is free, the same node before others; where a
// block finds none, the whole block moves to the nearest domain that can take it, the fullest of those. Where that moves
// more than the lost ranks, or breaks what the job requires, the fewest moves are searched for (move_search.h). Ranks
// keep their rail where a GPU of it is free. Ranks on nodes that the job may not use move too. Where the job prefers nodes,
// the ranks that move go where that is worth most to it (preferred_moves.h). Used spares are replenished from free GPUs.
// Every plan passes check_placement(). The placer's tree is the state now, the job's GPUs taken; it is as it was when
// this returns. Errors: conflict, code "repair.noSpare", which says what is missing.
Result<RepairPlan> plan_repair(Placer& placer, const DamagedJob& job, std::span<const fabric::GpuId> lost);

}  // namespace railweave::scheduler
