// Jobs that Railweave offers another place: they are requeued, and begin where it was held for them.
#include <algorithm>

#include <fmt/core.h>

#include "services/slurm/job_body.h"
#include "services/slurm/operator.h"
#include "services/slurm/ranks/admin_comment.h"

namespace railweave::slurm {

// Placements are named by the start that they were made for; a move is the one way in which a placement outlives a start.
void Operator::follow_moves(const std::vector<SlurmJob>& jobs, Placements::Active& active) {
  for (const SlurmJob& job : jobs) {
    if (job.restarts == 0 || active.by_key.contains(job.key()) || !is_checkpointable(job)) continue;
    for (unsigned start = job.restarts; start-- > 0;) {
      if (!active.by_key.contains(job.key_of_start(start))) continue;
      follow(job, job.key_of_start(start), active.by_key);
      break;
    }
  }
}

void Operator::follow(const SlurmJob& job, const std::string& key, std::map<std::string, Held>& placements) {
  Held held = placements.at(key);
  const bool has_run = held.phase == Held::Phase::running || held.phase == Held::Phase::releasing;
  bool is_its_own = false;
  if (job.ending()) {
    // What has not begun is of the next start: an epilog has said that the nodes are free.
    if (held.phase == Held::Phase::offered) placements.erase(key);
    is_its_own = held.phase != Held::Phase::offered;
  } else if (!job.pending()) {
    const auto leave = held.phase == Held::Phase::releasing ? placements_.leave(held.id) : std::optional<Leave>();
    is_its_own = held.phase != Held::Phase::releasing || (leave && leave->to_queue && job.placed_by(held.id));
  } else if (!has_run) {
    is_its_own = placements_.starts_again(held.id);
  } else if (held.phase == Held::Phase::releasing && placements_.is_moving(held.id)) {
    // Unpinned first: its old GPUs pass on, and Slurm must not begin it there by itself.
    const std::string mark = std::string(kMarkWord) + "moves to other GPUs, which are held for it";
    if (!update(job, {pin_text(job, {}), fmt::format("StartTime=now+{}", options_.grace_s)}, mark)) {
      is_its_own = true;  // it has just begun, and is told to leave again
    } else if (const auto phase = placements_.freed(held.id)) {
      held.phase = *phase;
      is_its_own = true;
      say_("job " + job.id + " moves with " + held.id);
    } else {
      placements.erase(key);
    }
  }
  if (!is_its_own) return;
  placements.erase(key);
  placements.emplace(job.key(), std::move(held));
}

void Operator::answer_moves(const Situation& situation) {
  const auto runs = [](const SlurmJob& job) { return job.state == "R" && is_checkpointable(job); };
  if (std::ranges::none_of(*situation.jobs, runs)) return;
  const std::vector<std::string> offered = placements_.offered_moves();
  for (const SlurmJob& job : *situation.jobs) {
    const auto held = situation.placements.find(job.key());
    if (held == situation.placements.end() || std::ranges::find(offered, held->second.id) == offered.end()) continue;
    bool moves = runs(job) && job.het == 0 && held->second.phase == Held::Phase::running &&
                 step_of(job) == Step::place && !options_.cancel_evicted;
    if (moves) {
      const auto detail = slurm_.detail(job.target());
      moves = detail && detail->requeues;
    }
    placements_.answer_move(held->second.id, moves);
    say_("job " + job.id + (moves ? " moves to other GPUs" : " stays where it is: it cannot be requeued now"));
  }
}

}  // namespace railweave::slurm
