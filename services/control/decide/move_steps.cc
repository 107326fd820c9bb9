#include "services/control/decide/move_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "scheduler/placement/score/summary.h"
#include "services/control/decide/move_plans.h"
#include "services/control/events/apply.h"
#include "services/control/views/cpu_roles.h"

namespace railweave::control {
namespace {

bool has_begun(const Job& job) { return !job.holds_gpus() || job.is_releasing(); }

// Why the place that is held for it is none any more; empty: it is.
Message lost_place(const ClusterState& state, const Job& job) {
  for (const auto gpu : job.move->gpu_of_rank) {
    const auto host = state.topology().host(gpu);
    const auto& allocation = state.allocations[host.index()];
    const bool used = (allocation.used >> state.topology().local_index(gpu) & 1U) != 0;
    if (used || allocation.unavailable || state.drains->contains({DrainKind::gpu, gpu_text(state.topology(), gpu)})) {
      return {"move.placeLost",
              {"its new place on ", NodePart{std::string(state.topology().name(host))}, " takes no new jobs any more"}};
    }
  }
  return {};
}

// Without its place it waits in the queue, or ends where another scheduler has its queue.
EventBody without_place(const Job& job, Message why) {
  if (job.launch->requeues) return MoveEnded{job.id, std::move(why)};
  return JobEnded{job.id, JobState::cancelled, std::move(why)};
}

// Its GPUs are free: it starts where it was to go.
EventBody placed_or_ended(const ClusterState& state, const JobPtr& job, PlacerCache& placers) {
  if (auto lost = lost_place(state, *job); !lost.empty()) return without_place(*job, std::move(lost));
  scheduler::Placement placement;
  placement.gpu_of_rank = job->move->gpu_of_rank;
  placement.block_gpus = job->spec.parallelism.tensor;
  scheduler::summarize(state.placement_fabric->as_cabled(), job->spec.parallelism, placement);
  scheduler::Placer& placer = placers.at(state);
  placement.predicted = placer.predict(job->spec, placement.gpu_of_rank);
  SearchedJobs searched;
  GuaranteeGate gate(state, placers.guarantees(), placers.reach(state), searched);
  const auto planned = placement.gpu_of_rank;
  if (auto why = gate.start(queued_job(*job), placement, {}, placer); !why.empty()) {
    return without_place(*job, std::move(why));
  }
  if (placement.gpu_of_rank != planned) {
    return without_place(*job, Message("move.noBandwidth", {"its guarantee does not fit at its new place"}));
  }
  auto moved = std::make_shared<Job>(*job);
  moved->move.reset();
  moved->state = JobState::placed;
  moved->queue.place_until_us = 0;
  seat_cpu_roles(state, moved->spec, placement);
  moved->placement = std::move(placement);
  moved->nodes = node_names(state.topology(), moved->placement.gpu_of_rank);
  if (const Grant* granted = gate.granted(job->id.number())) moved->guarantee = granted->guarantee;
  return JobPlaced{std::move(moved), Message("move.moved", {"moved "}) + job->move->reason};
}

bool still_wanted(const ClusterState& state, const Move& move) {
  if (move.in_favour_of == JobId()) return true;
  const JobPtr job = state.jobs.find(move.in_favour_of);
  return job != nullptr && job->state == JobState::queued;
}

// What is due of the moves of one plan that have not begun.
std::vector<EventBody> next_of_plan(const ClusterState& state, const std::vector<JobPtr>& jobs, std::int64_t now_us) {
  if (!still_wanted(state, *jobs.front()->move)) {
    return end_plan(state, *jobs.front(), Message("move.notWanted", {"what it was to make room for waits no longer"}));
  }
  std::vector<EventBody> events;
  for (const JobPtr& job : jobs) {
    if (job->move->accepted || job->move->deadline_us > now_us) continue;
    if (!state.queue_rules->policy.moves.evict_unanswered) {
      return end_plan(state, *job, Message("move.notAnswered", {"its launcher has not answered in time"}));
    }
    events.emplace_back(MoveAccepted{job->id, false});
  }
  if (!events.empty() || !std::ranges::all_of(jobs, [](const JobPtr& job) { return job->move->accepted; }))
    return events;
  for (const JobPtr& job : jobs) {
    events.emplace_back(JobReleasing{job->id, JobState::queued, job->move->in_favour_of, lost_gpu_s(*job, now_us),
                                     job->move->reason, true});
  }
  return events;
}

// The first job that waits for GPUs, if it is time to plan for it; null: it is not, or none waits.
JobPtr first_waiting(const ClusterState& state, const QueueView& view) {
  for (const auto& waiting : view.waiting) {
    const bool for_gpus = waiting.reason.code == scheduler::WaitCode::no_capacity ||
                          waiting.reason.code == scheduler::WaitCode::better_place;
    const JobPtr job = for_gpus ? state.jobs.find(JobId(waiting.job)) : nullptr;
    if (job != nullptr && job->state == JobState::queued) return job;
  }
  return nullptr;
}

bool moves_for(const ClusterState& state, JobId waiting) {
  return std::ranges::any_of(state.moves->jobs,
                             [&](JobId id) { return state.jobs.find(id)->move->in_favour_of == waiting; });
}

}  // namespace

std::vector<EventBody> end_plan(const ClusterState& state, const Job& job, const Message& why) {
  std::vector<EventBody> events;
  for (const JobId id : state.moves->jobs) {
    const JobPtr other = state.jobs.find(id);
    if (other->move->plan != job.move->plan || has_begun(*other)) continue;
    events.emplace_back(
        MoveEnded{id, id == job.id ? why : Message("move.otherStays", {"another job of the plan stays where it is"})});
  }
  return events;
}

std::vector<EventBody> next_moves(const ClusterState& state, PlacerCache& placers, std::int64_t now_us) {
  std::map<std::uint64_t, std::vector<JobPtr>> plans;  // moves that have not begun
  for (const JobId id : state.moves->jobs) {
    const JobPtr job = state.jobs.find(id);
    if (job->state == JobState::queued) return {placed_or_ended(state, job, placers)};
    if (job->is_releasing() && job->launch->overdue) {
      return {MoveEnded{id, Message("move.overdue", {"its GPUs were not free in time"})}};
    }
    if (!job->is_releasing()) plans[job->move->plan].push_back(job);
  }
  for (const auto& [number, jobs] : plans) {
    if (auto events = next_of_plan(state, jobs, now_us); !events.empty()) return events;
  }
  return {};
}

std::optional<std::int64_t> moves_due_in_us(const ClusterState& state, std::int64_t now_us) {
  std::optional<std::int64_t> in_us;
  for (const JobId id : state.moves->jobs) {
    const JobPtr job = state.jobs.find(id);
    if (has_begun(*job) || job->move->accepted) continue;
    in_us = std::min(in_us.value_or(INT64_MAX), job->move->deadline_us - now_us);
  }
  return in_us;
}

std::vector<EventBody> AutomaticMoves::next(const ClusterState& state, const QueueView& view, PlacerCache& placers,
                                            std::int64_t now_us) {
  if (due_in_us(state, view, now_us).value_or(1) > 0) return {};
  planned_at_version_ = state.queue_version;
  planned_us_ = now_us;
  const MoveTarget target{MoveTarget::For::job, first_waiting(state, view)->id};
  auto planned = plan_moves(state, view, placers, target, now_us);
  std::vector<EventBody> events;
  if (planned) {
    for (auto& offer : planned->offers) events.emplace_back(std::move(offer));
  }
  return events;
}

std::optional<std::int64_t> AutomaticMoves::due_in_us(const ClusterState& state, const QueueView& view,
                                                      std::int64_t now_us) const {
  const auto& rules = state.queue_rules->policy.moves;
  if (!rules.automatic || state.jobs.queued() == 0) return std::nullopt;
  const JobPtr waiting = first_waiting(state, view);
  if (waiting == nullptr || moves_for(state, waiting->id)) return std::nullopt;
  // Prices rise with time and budgets come back, so that what is unchanged is planned for again, but not at once.
  const std::int64_t rest_us = planned_at_version_ == state.queue_version ? 6 * kRest_us : kRest_us;
  const std::int64_t from_us =
      std::max(waiting->place().since_us + rules.after_us, planned_at_version_ == 0 ? 0 : planned_us_ + rest_us);
  return from_us - now_us;
}

}  // namespace railweave::control
