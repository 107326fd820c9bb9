#include "services/control/events/move_changes.h"

#include <memory>
#include <utility>

#include "fabric/base/check.h"
#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

namespace {

template <class Change>
void change_move(ClusterState& state, JobId id, const Event& event, Message line, Change change) {
  const JobPtr before = state.jobs.find(id);
  RAILWEAVE_CHECK(before != nullptr, "the job of an event exists");
  auto job = std::make_shared<Job>(*before);
  change(*job);
  job->version = event.seq;
  job->note({event.time_us, event.seq, job->state, std::move(line), event.actor});
  state.jobs.put(std::move(job));
  state.queue_version = event.seq;
}

}  // namespace

void drop_move(ClusterState& state, Job& job) {
  if (!job.move) return;
  state.hold_place(job, false);
  job.move.reset();
}

void apply_change(ClusterState& state, const MoveOffered& body, const Event& event) {
  auto line = Message("move.offered", {"is offered other GPUs: "}) + body.move.reason;
  change_move(state, body.id, event, std::move(line), [&](Job& job) {
    job.move = body.move;
    state.hold_place(job, true);
  });
}

void apply_change(ClusterState& state, const MoveAccepted& body, const Event& event) {
  change_move(state, body.id, event, move_accepted_text(body), [](Job& job) { job.move->accepted = true; });
}

void apply_change(ClusterState& state, const MoveEnded& body, const Event& event) {
  auto line = Message("move.ended", {"does not move: "}) + body.reason;
  change_move(state, body.id, event, std::move(line), [&](Job& job) { drop_move(state, job); });
}

}  // namespace railweave::control
