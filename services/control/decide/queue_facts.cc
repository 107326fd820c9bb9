#include "services/control/decide/queue_facts.h"

#include <algorithm>
#include <span>

#include "scheduler/queue/cycle/wait_reason.h"
#include "services/control/guarantees/admitted_placement.h"

namespace railweave::control {
namespace {

// By when it is expected to have freed its GPUs; 0: it runs.
std::int64_t releases_us(const Job& job) {
  // Of a move that was not answered yet as well: its GPUs are not to be waited for by a job that ends later.
  if (job.move && !job.is_releasing()) {
    const LaunchTerms& terms = job.launch->terms;
    return job.move->deadline_us + terms.notice_us + terms.release_us;
  }
  if (!job.is_releasing()) return 0;
  return std::max<std::int64_t>(1, job.launch->deadline_us);
}

}  // namespace

scheduler::QueuedJob queued_job(const Job& job) {
  const QueuePlace place = job.place();
  return {.id = job.id.number(),
          .spec = &job.spec,
          .submitted_us = place.since_us,
          .not_before_us = job.not_before_us,
          .turn = place.number,
          .held = job.queue.hold ? job.queue.hold->text() : std::string(),
          .place_until_us = job.queue.place_until_us,
          .keeps_place = job.waits == railweave::to_text(scheduler::WaitCode::better_place)};
}

bool takes_any_place(const ClusterState& state, const scheduler::JobSpec& spec) {
  if (!spec.expected_duration_s) return true;
  const auto terms = job_terms(state, spec);
  return !terms || terms->has_value();
}

QueueFacts::QueueFacts(const ClusterState& state, std::int64_t now_us, RulesAlone)
    : policy(whole_policy(*state.queue_rules, *state.tenants, *state.contracts, *state.reservations, now_us)) {
  if (policy.fair_share == scheduler::FairShareRule::decayed) used = *state.used;
}

QueueFacts::QueueFacts(const ClusterState& state, std::int64_t now_us) : QueueFacts(state, now_us, RulesAlone()) {
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (job->has_ended()) return true;
    jobs.push_back(job);
    if (job->state == JobState::queued) {
      queued.push_back(queued_job(*job));
      queued.back().takes_any_place = takes_any_place(state, job->spec);
    } else {
      add_running(*job, now_us);
    }
    return true;
  });
  mark_awaited();
}

void QueueFacts::add_running(const Job& job, std::int64_t now_us) {
  std::span<const fabric::GpuId> gpus = job.placement.gpu_of_rank;
  if (!job.placement.idle_gpus.empty()) gpus = held.emplace_back(job.placement.held_gpus());
  running.push_back({job.id.number(), &job.spec, job.started_us, job.saved_us, gpus, releases_us(job)});
  if (used) used->charge(job.spec.tenant, gpus.size(), job.started_us, now_us);
  if (job.move && job.move->in_favour_of != JobId()) awaited_.insert(job.move->in_favour_of.number());
  if (job.is_releasing() && job.launch->in_favour_of != JobId()) awaited_.insert(job.launch->in_favour_of.number());
}

void QueueFacts::mark_awaited() {
  if (awaited_.empty()) return;
  for (auto& job : queued) job.awaits_release = awaited_.contains(job.id);
}

void QueueFacts::keep(const std::map<scheduler::QueueJobId, std::vector<fabric::GpuId>>& gpus) {
  if (gpus.empty()) return;
  for (auto& job : queued) {
    const auto kept = gpus.find(job.id);
    if (kept != gpus.end() && job.place_until_us != 0) job.kept = kept->second;
  }
}

}  // namespace railweave::control
