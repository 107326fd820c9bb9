#include "services/control/decide/queue_book.h"

namespace railweave::control {

void QueueBook::put(const ClusterState& state, const JobPtr& job) {
  if (job->state != JobState::queued) {
    running_[job->id] = job;
    return;
  }
  scheduler::QueuedJob& queued = queued_[job->id] = queued_job(*job);
  queued.takes_any_place = takes_any_place(state, job->spec);
  queued.told = told_(*job);
  queued.digest = digests_.of(job->spec);
}

void QueueBook::bring_up_to(const ClusterState& state) {
  state.jobs.visit_changed(jobs_, [&](const JobPtr& was, const JobPtr& is) {
    if (was != nullptr) {
      queued_.erase(was->id);
      running_.erase(was->id);
    }
    if (is != nullptr && !is->has_ended()) put(state, is);
  });
  jobs_ = state.jobs;
  if (contracts_ != state.contracts) {
    contracts_ = state.contracts;
    for (auto& [id, job] : queued_) job.takes_any_place = takes_any_place(state, *job.spec);
  }
  if (digests_.full()) {
    digests_.clear();
    for (auto& [id, job] : queued_) job.digest = digests_.of(*job.spec);
  }
}

QueueFacts QueueBook::facts(const ClusterState& state, std::int64_t now_us) {
  bring_up_to(state);
  QueueFacts facts(state, now_us, QueueFacts::RulesAlone());
  facts.queued.reserve(queued_.size() + 1);
  for (const auto& [id, job] : queued_) facts.queued.push_back(job);
  facts.running.reserve(running_.size());
  for (const auto& [id, job] : running_) facts.add_running(*job, now_us);
  facts.mark_awaited();
  return facts;
}

}  // namespace railweave::control
