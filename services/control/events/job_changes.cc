#include "services/control/events/job_changes.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/base/check.h"
#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

namespace {

// The waiting jobs of its tenant and priority, in turn.
std::vector<JobPtr> queued_with(const ClusterState& state, const Job& one) {
  std::vector<JobPtr> order;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    const bool with = job->state == JobState::queued && job->spec.tenant == one.spec.tenant &&
                      job->spec.priority == one.spec.priority;
    if (with) order.push_back(job);
    return true;
  });
  std::ranges::sort(order, {}, [](const JobPtr& job) { return job->place(); });
  return order;
}

template <class Change>
void change_and_note(ClusterState& state, JobId id, const Event& event, Message line, Change change) {
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

void apply_change(ClusterState& state, const JobChanged& body, const Event& event) {
  change_and_note(state, body.id, event, body.text, [&](Job& job) {
    job.spec.priority = body.priority;
    job.spec.expected_duration_s = body.expected_duration_s;
    job.spec.min_runtime_s = body.min_runtime_s;
    job.spec.exclude_nodes = body.exclude_nodes;
    job.not_before_us = body.not_before_us;
  });
}

void apply_change(ClusterState& state, const JobHeld& body, const Event& event) {
  change_and_note(state, body.id, event, text(body), [&](Job& job) {
    job.queue.hold.reset();
    if (body.held) job.queue.hold = JobHold{event.actor, body.by_operator, body.reason, event.time_us};
  });
}

void apply_change(ClusterState& state, const JobReordered& body, const Event& event) {
  const JobPtr moved = state.jobs.find(body.id);
  RAILWEAVE_CHECK(moved != nullptr, "the job of an event exists");
  auto order = queued_with(state, *moved);
  std::vector<QueuePlace> places;
  places.reserve(order.size());
  for (const auto& job : order) places.push_back(job->place());
  std::erase(order, moved);
  const auto beside = std::ranges::find(order, body.beside, [](const JobPtr& job) { return job->id; });
  RAILWEAVE_CHECK(beside != order.end(), "a job is put beside one that waits");
  order.insert(body.before ? beside : std::next(beside), moved);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i]->place() == places[i]) continue;
    auto job = std::make_shared<Job>(*order[i]);
    const QueuePlace own{job->submitted_us, job->id.number()};
    job->queue.exchanged = places[i] == own ? QueuePlace{} : places[i];
    state.jobs.put(std::move(job));
  }
  change_and_note(state, body.id, event, text(body), [](Job&) {});
}

Message text(const JobReordered& change) {
  return {"job.reordered",
          {change.before ? "goes before " : "goes after ", JobPart{change.beside.number()},
           change.reason.empty() ? "" : ": " + change.reason}};
}

Message text(const JobHeld& change) {
  return {change.held ? "job.held" : "job.released",
          {std::string(change.held ? "held" : "released") + (change.reason.empty() ? "" : ": " + change.reason)}};
}

}  // namespace railweave::control
