// What launchers say of moves that their jobs are offered, and the request for moves.
#include <utility>

#include "services/control/decide/commands.h"
#include "services/control/decide/move_plans.h"
#include "services/control/decide/move_steps.h"
#include "services/control/decide/refusal.h"

namespace railweave::control {

DecisionResult decide_command(const DecisionInput& in, const AnswerMove& command) {
  const JobPtr job = in.state.jobs.find(command.id);
  if (job == nullptr) return job_not_found(command.id);
  const std::string id = to_string(job->id);
  if (!job->move) {
    return refuse(ErrorKind::conflict, "jobs.noMove", id + " is offered no other place: it stays where it is");
  }
  if (job->move->accepted) {
    if (command.accept) return Decision{{}, job->id, true};
    if (!job->holds_gpus() || job->is_releasing()) {
      return refuse(ErrorKind::conflict, "jobs.moves", id + " moves already",
                    "end its processes, then POST /v1/jobs/" + id + "/freed");
    }
  }
  if (command.accept) return Decision{{MoveAccepted{job->id}}, job->id, false};
  return Decision{end_plan(in.state, *job, Message("move.declined", {"its launcher declines"})), job->id, false};
}

DecisionResult decide_command(const DecisionInput& in, const OfferMoves& command) {
  auto planned = plan_moves(in.state, *in.queue.view(), in.placers, command.target, in.now_us);
  if (!planned) return std::unexpected(Rejection{planned.error(), nullptr});
  Decision decision{{}, planned->in_favour_of, false};
  for (auto& offer : planned->offers) decision.events.emplace_back(std::move(offer));
  return decision;
}

}  // namespace railweave::control
