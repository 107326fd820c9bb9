#include "services/control/decide/move_plans.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "scheduler/queue/repair/defragment.h"
#include "scheduler/queue/repair/room_by_moves.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/views/closed_gpus.h"

namespace railweave::control {
namespace {

using fabric::GpuId;
using scheduler::WaitCode;

bool is_movable(const ClusterState& state, const Job& job, std::int64_t now_us) {
  if (!job.holds_gpus() || !job.launch || job.launch->phase != LaunchPhase::running || job.move) return false;
  if (!job.launch->terms.checkpointable || job.adopted || job.guarantee) return false;
  if (!job.placement.idle_gpus.empty() || !job.damage.empty()) return false;
  const auto tenant = state.tenants->find(job.spec.tenant);
  if (tenant == state.tenants->end() || !tenant->second.moves) return false;
  const std::int64_t least_us =
      job.spec.min_runtime_s ? *job.spec.min_runtime_s * 1'000'000 : state.queue_rules->policy.least_run_us;
  return job.started_us + least_us <= now_us;
}

std::vector<JobPtr> movable_jobs(const ClusterState& state, std::int64_t now_us) {
  std::vector<JobPtr> jobs;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (is_movable(state, *job, now_us)) jobs.push_back(job);
    return true;
  });
  return jobs;
}

std::unexpected<Error> refused(std::string code, std::string text, std::string hint = {}) {
  return fail(ErrorKind::conflict, std::move(code), std::move(text), {}, std::move(hint));
}

bool waits_for_gpus(WaitCode code) { return code == WaitCode::no_capacity || code == WaitCode::better_place; }

// The job that others are to move for, and why it waits.
Result<JobPtr> job_to_start(const ClusterState& state, const QueueView& view, const MoveTarget& target) {
  if (target.what == MoveTarget::For::job) {
    JobPtr job = state.jobs.find(target.job);
    if (job == nullptr) {
      return fail(ErrorKind::notFound, "jobs.notFound", fmt::format("there is no job {}", to_string(target.job)));
    }
    if (job->state != JobState::queued) {
      return refused("jobs.notQueued", fmt::format("{} is {}", to_string(job->id), to_string(job->state)));
    }
    return job;
  }
  for (const auto& waiting : view.waiting) {
    JobPtr job = state.jobs.find(JobId(waiting.job));
    if (job != nullptr && job->state == JobState::queued && waits_for_gpus(waiting.reason.code)) return job;
  }
  return refused("moves.nothingWaits", "no job waits for GPUs");
}

MoveOffered offer_of(const ClusterState& state, const Job& job, std::vector<GpuId> gpu_of_rank, std::uint64_t plan,
                     std::int64_t now_us) {
  Move move;
  move.plan = plan;
  move.gpu_of_rank = std::move(gpu_of_rank);
  move.lost_gpu_s = lost_gpu_s(job, now_us);
  move.deadline_us = now_us + state.queue_rules->policy.moves.answer_us;
  return {job.id, std::move(move)};
}

constexpr const char* kWhichMove =
    "jobs move that say \"checkpointable\" to their launcher's terms, have no guarantee, and whose tenant allows it";

Result<PlannedMoves> plan_for_job(const ClusterState& state, PlacerCache& placers, const Job& waiting,
                                  std::int64_t now_us) {
  const auto terms = job_terms(state, waiting.spec);
  if (!terms || *terms) {
    return refused(
        "moves.guaranteed",
        fmt::format("{} waits with a guarantee of bandwidth, and no plan counts on links", to_string(waiting.id)));
  }
  const auto jobs = movable_jobs(state, now_us);
  std::vector<scheduler::MovableJob> movable;
  for (const JobPtr& job : jobs) {
    movable.push_back({job->id.number(), &job->spec, job->placement.gpu_of_rank, lost_gpu_s(*job, now_us)});
  }
  const MoveBudget budget = move_budget(state, now_us);
  scheduler::Placer& placer = placers.at(state);
  scheduler::RoomOptions options{.most_moves = budget.jobs, .most_lost_gpu_s = budget.gpu_s};
  options.closed = [&](scheduler::QueueJobId id) {
    if (id == 0) {
      return closed_gpus(state, waiting.spec.tenant, now_us, expected_end_us(state, waiting.spec, now_us)).gpus;
    }
    const JobPtr job = state.jobs.find(JobId(id));
    return closed_gpus(state, job->spec.tenant, now_us, expected_end_us(state, *job, now_us)).gpus;
  };
  std::optional<double> period_us;  // where it could start now
  const auto not_needed = [&] {
    return refused("moves.notNeeded", fmt::format("{} fits without a move, and none within the budget makes it faster",
                                                  to_string(waiting.id)));
  };
  if (const auto now = placer.try_place(waiting.spec)) {
    period_us = placer.priced_period_us(waiting.spec, *now);
    if (!period_us) return not_needed();
    const double gain = state.queue_rules->policy.place_wait.gain;
    options.accepts = [&, gain](const scheduler::Placement& place) {
      const auto there_us = placer.priced_period_us(waiting.spec, place);
      return there_us && *there_us * (1 + gain) < *period_us;
    };
  }
  auto room = budget.jobs == 0 ? std::nullopt : scheduler::plan_room(placer, waiting.spec, movable, options);
  if (!room && period_us) return not_needed();
  if (!room) {
    return refused(
        "moves.none",
        fmt::format("no moves within the budget make room for {}: {} jobs may move, {} of them now, losing up to {} "
                    "GPU seconds",
                    to_string(waiting.id), movable.size(), budget.jobs, static_cast<std::int64_t>(budget.gpu_s)),
        kWhichMove);
  }
  PlannedMoves planned{.in_favour_of = waiting.id, .lost_gpu_s = room->lost_gpu_s};
  for (auto& move : room->moves) {
    auto offer = offer_of(state, *jobs[move.job], std::move(move.gpu_of_rank), state.seq + 1, now_us);
    offer.move.in_favour_of = waiting.id;
    offer.move.reason = period_us
                            ? Message("move.betterPlace", {"so that ", JobPart{waiting.id.number()}, " is faster"})
                            : Message("move.startsJob", {"so that ", JobPart{waiting.id.number()}, " starts"});
    planned.offers.push_back(std::move(offer));
  }
  return planned;
}

// Whether each job of the step can go where the plan has it while no other has moved.
bool can_be_made_now(const ClusterState& state, const scheduler::DefragmentStep& step, std::set<GpuId>& taken) {
  for (const auto& move : step.moves) {
    const JobPtr job = state.jobs.find(JobId(move.job));
    for (const GpuId gpu : move.gpu_of_rank) {
      const auto host = state.topology().host(gpu);
      const auto& allocation = state.allocations[host.index()];
      const bool used = (allocation.used >> state.topology().local_index(gpu) & 1U) != 0;
      const auto& own = job->placement.gpu_of_rank;
      if ((used && std::ranges::find(own, gpu) == own.end()) || !taken.insert(gpu).second) return false;
    }
  }
  return true;
}

Result<PlannedMoves> plan_for_domains(const ClusterState& state, PlacerCache& placers, std::size_t most_steps,
                                      std::int64_t now_us) {
  const QueueFacts facts(state, now_us);
  scheduler::DefragmentOptions options{.most_steps = most_steps};
  options.restart_s = [&](const scheduler::RunningJob& running) -> std::optional<double> {
    const JobPtr job = state.jobs.find(JobId(running.id));
    if (!is_movable(state, *job, now_us)) return std::nullopt;
    return lost_gpu_s(*job, now_us) / static_cast<double>(job->placement.gpu_of_rank.size());
  };
  options.closed = [&](const scheduler::RunningJob& running) {
    const JobPtr job = state.jobs.find(JobId(running.id));
    return closed_gpus(state, job->spec.tenant, now_us, expected_end_us(state, *job, now_us)).gpus;
  };
  options.cut_off = [&](const scheduler::RunningJob& running) -> scheduler::CutOff {
    return [&](std::span<const GpuId> gpus) { return placers.reach(state).cut_off(*running.spec, gpus); };
  };
  const MoveBudget budget = move_budget(state, now_us);
  PlannedMoves planned;
  std::set<GpuId> taken;
  std::uint64_t plan = state.seq;
  for (const auto& step : scheduler::plan_defragmentation(placers.at(state), facts.running, options)) {
    const bool within = planned.lost_gpu_s + step.cost_gpu_s <= budget.gpu_s &&
                        planned.offers.size() + step.moves.size() <= budget.jobs;
    // A job moves once: what a later step has it do holds after the steps before it.
    const bool again = std::ranges::any_of(step.moves, [&](const auto& move) {
      return std::ranges::any_of(planned.offers, [&](const auto& offer) { return offer.id == JobId(move.job); });
    });
    if (!within || again || !can_be_made_now(state, step, taken)) break;
    ++plan;
    for (const auto& move : step.moves) {
      auto offer = offer_of(state, *state.jobs.find(JobId(move.job)), move.gpu_of_rank, plan, now_us);
      offer.move.reason = Message("move.freesDomains", {"so that whole NVLink domains come free"});
      planned.offers.push_back(std::move(offer));
    }
    for (const auto domain : step.frees) planned.frees.emplace_back(state.topology().name(domain));
    planned.lost_gpu_s += step.cost_gpu_s;
  }
  if (planned.offers.empty()) {
    return refused("moves.none", "no moves within the budget free a whole NVLink domain", kWhichMove);
  }
  return planned;
}

}  // namespace

double lost_gpu_s(const Job& job, std::int64_t now_us) {
  // A checkpoint is later than now where the time of day was set back.
  const std::int64_t lost_us = std::max<std::int64_t>(0, now_us - std::max(job.started_us, job.saved_us));
  return static_cast<double>(lost_us) * 1e-6 * static_cast<double>(job.placement.gpu_of_rank.size());
}

MoveBudget move_budget(const ClusterState& state, std::int64_t now_us) {
  const auto& rules = state.queue_rules->policy.moves;
  double spent = 0;
  for (const MoveCharge& charge : state.moves->charges) {
    if (charge.time_us > now_us - MoveBook::kBudgetPeriod_us) spent += charge.lost_gpu_s;
  }
  for (const JobId id : state.moves->jobs) {
    const JobPtr job = state.jobs.find(id);
    if (job->holds_gpus() && !job->is_releasing()) spent += job->move->lost_gpu_s;
  }
  return {std::max(0.0, rules.budget_gpu_s - spent),
          rules.at_once - std::min<std::size_t>(rules.at_once, state.moves->jobs.size())};
}

Result<PlannedMoves> plan_moves(const ClusterState& state, const QueueView& view, PlacerCache& placers,
                                const MoveTarget& target, std::int64_t now_us) {
  if (target.what == MoveTarget::For::domains) return plan_for_domains(state, placers, target.most_steps, now_us);
  const auto waiting = job_to_start(state, view, target);
  if (!waiting) return std::unexpected(waiting.error());
  return plan_for_job(state, placers, **waiting, now_us);
}

}  // namespace railweave::control
