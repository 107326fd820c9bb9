// Which running jobs are offered other places, and which: for the first job that waits, for one by name, or so that whole
// NVLink domains come free. Only jobs that say they are checkpointable, whose launcher answers, whose tenant allows it and
// that have no guarantee, within the budget of the queue's policy. Pure but for the placers.
#pragma once

#include <string>
#include <vector>

#include "services/control/decide/queue_runner.h"
#include "services/control/events/command.h"

namespace railweave::control {

struct PlannedMoves {
  std::vector<MoveOffered> offers;
  JobId in_favour_of;              // 0: domains come free
  std::vector<std::string> frees;  // names of these domains
  double lost_gpu_s = 0;
};

// What moves may lose now, of the budget of the last hour; and how many jobs may be offered one.
struct MoveBudget {
  double gpu_s = 0;
  std::size_t jobs = 0;
};
MoveBudget move_budget(const ClusterState& state, std::int64_t now_us);

// Work since the job's last checkpoint, which it does again after a move.
double lost_gpu_s(const Job& job, std::int64_t now_us);

// Errors: jobs.notFound; conflict "moves.nothingWaits", "jobs.notQueued", "moves.notNeeded", "moves.guaranteed", "moves.none".
Result<PlannedMoves> plan_moves(const ClusterState& state, const QueueView& view, PlacerCache& placers,
                                const MoveTarget& target, std::int64_t now_us);

}  // namespace railweave::control
