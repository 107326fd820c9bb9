#include "services/control/decide/queue_runner.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "services/control/events/apply.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/views/cpu_roles.h"

namespace railweave::control {
namespace {

using scheduler::WaitCode;

// What a cycle is asked. Borrowed from all three.
scheduler::QueueInput input_of(const QueueFacts& facts, std::int64_t now_us, GuaranteeGate& gate) {
  return {.policy = &facts.policy,
          .queued = facts.queued,
          .running = facts.running,
          .used = facts.used ? &*facts.used : nullptr,
          .now_us = now_us,
          .gate = &gate};
}

// The history records a change of kind only: reasons that change with every cycle are one kind.
int kind_of(WaitCode code) {
  switch (code) {
    case WaitCode::behind:
    case WaitCode::no_capacity:
    case WaitCode::would_delay:
    case WaitCode::window:
      return 0;
    case WaitCode::tenant_quota:
    case WaitCode::cohort_quota:
      return 1;
    case WaitCode::never_fits:
    case WaitCode::no_known_time:
      return 2;
    case WaitCode::not_before:
      return 3;
    case WaitCode::bandwidth:
      return 4;
    case WaitCode::held:
      return 5;
    case WaitCode::better_place:
      return 6;
  }
  return 0;
}

int kind_of(const std::string& code) {
  const auto known = parse_enum<WaitCode>(code);
  return known ? kind_of(*known) : -1;
}

JobPlaced placed(const ClusterState& state, const Job& waiting, const scheduler::StartedJob& start,
                 const GuaranteeGate& gate) {
  auto job = std::make_shared<Job>(waiting);
  job->state = JobState::placed;
  if (start.shape) job->spec.parallelism = *start.shape;
  job->queue.place_until_us = 0;
  job->placement = start.placement;
  seat_cpu_roles(state, job->spec, job->placement);
  job->nodes = node_names(state.topology(), job->placement.gpu_of_rank);
  if (const Grant* granted = gate.granted(start.job)) job->guarantee = granted->guarantee;
  return {std::move(job), start.reason()};
}

// An eviction of processes that a launcher ends: their GPUs are free only when it says so.
bool makes_way_later(const ClusterState& state, scheduler::QueueJobId id) {
  const JobPtr job = state.jobs.find(JobId(id));
  return job != nullptr && job->launch && job->launch->phase != LaunchPhase::offered;
}

// Takes out what depends on GPUs that are not free yet: the first start that evicts such jobs, which are asked to make
// way, and all that was decided after it.
void hold_back(const ClusterState& state, scheduler::CycleResult& result, std::vector<EventBody>& events) {
  const auto waits = std::ranges::find_if(result.starts, [&](const scheduler::StartedJob& start) {
    return std::ranges::any_of(start.evicted, [&](auto id) { return makes_way_later(state, id); });
  });
  if (waits == result.starts.end()) return;
  const std::vector<scheduler::QueueJobId> evicted = waits->evicted;
  const auto evicted_before = [&](const scheduler::EvictedJob& job) {
    return std::ranges::any_of(result.starts.begin(), waits, [&](const scheduler::StartedJob& start) {
      return std::ranges::find(start.evicted, job.job) != start.evicted.end();
    });
  };
  std::vector<scheduler::EvictedJob> kept;
  for (const auto& job : result.evictions) {
    if (std::ranges::find(evicted, job.job) != evicted.end()) {
      if (makes_way_later(state, job.job)) {
        events.emplace_back(
            JobReleasing{JobId(job.job), JobState::queued, JobId(job.in_favour_of), job.lost_gpu_s, job.reason()});
      } else {
        kept.push_back(job);
      }
    } else if (evicted_before(job)) {
      kept.push_back(job);
    }
  }
  result.evictions = std::move(kept);
  for (auto start = waits; start != result.starts.end(); ++start) {  // what kept a place starts there later
    if (start->waited == scheduler::PlaceWaitEnd::none) continue;
    result.kept.push_back({start->job, start->placement.held_gpus(), 0});
  }
  result.starts.erase(waits, result.starts.end());
}

// Evictions first: their GPUs are placed again by the starts.
void add_events(const ClusterState& state, const scheduler::CycleResult& result, const JobPtr& candidate,
                const GuaranteeGate& gate, std::vector<EventBody>& events) {
  for (const auto& evicted : result.evictions) {
    events.emplace_back(
        JobEvicted{JobId(evicted.job), JobId(evicted.in_favour_of), evicted.lost_gpu_s, evicted.reason()});
  }
  for (const auto& start : result.starts) {
    const JobPtr job =
        candidate != nullptr && candidate->id.number() == start.job ? candidate : state.jobs.find(JobId(start.job));
    events.emplace_back(placed(state, *job, start, gate));
  }
}

}  // namespace

QueueRunner::QueueRunner(PlacerCache& placers, unsigned rest, Clock clock, std::uint64_t max_waiting_of_tenant)
    : placers_(placers),
      book_([](const Job& job) { return static_cast<std::int8_t>(kind_of(job.waits)); }),
      rest_(rest),
      max_waiting_of_tenant_(max_waiting_of_tenant),
      clock_(clock ? std::move(clock) : [] { return std::int64_t{0}; }) {}

bool QueueRunner::due(const ClusterState& state, std::int64_t now_us) const {
  const auto in_us = due_in_us(state, now_us);
  return in_us && *in_us <= 0;
}

bool QueueRunner::inputs_changed(const ClusterState& state) const {
  return more_to_do_ || state.queue_version != ran_at_version_ || fabric_ != state.placement_fabric;
}

bool QueueRunner::others_changed(const ClusterState& state) const {
  return state.queue_version > told_until_ || fabric_ != state.placement_fabric;
}

std::optional<std::int64_t> QueueRunner::due_in_us(const ClusterState& state, std::int64_t now_us) const {
  if (state.jobs.queued() == 0) return std::nullopt;
  const std::int64_t burst_us = others_changed(state) ? kBurst_us : 0;
  const std::int64_t rest_us = std::max<std::int64_t>(0, rests_until_us_ - burst_us - clock_());
  // Where the time of day was set back, the times that the last cycle computed are not to be waited for.
  if (inputs_changed(state) || now_us < view_->time_us) return rest_us;
  if (view_->wake_us != 0) return std::max(view_->wake_us - now_us, rest_us);
  return std::nullopt;
}

std::optional<std::int64_t> QueueRunner::overdue_in_us(const ClusterState& state) const {
  if (state.jobs.queued() == 0 || state.free_gpus == 0 || !inputs_changed(state)) return std::nullopt;
  return std::max<std::int64_t>(0, ran_at_us_ + kOverdue_us - clock_());
}

bool QueueRunner::overdue(const ClusterState& state) const {
  const auto in_us = overdue_in_us(state);
  return in_us && *in_us == 0;
}

scheduler::QueueCycle& QueueRunner::cycle(const ClusterState& state) {
  if (cycle_ == nullptr || fabric_ != state.placement_fabric) {
    fabric_ = state.placement_fabric;
    cycle_ = std::make_unique<scheduler::QueueCycle>(fabric_);
    kept_.clear();
    capacities_version_ = 0;
  }
  (void)placers_.at(state);
  if (capacities_version_ != placers_.capacities_version()) {
    capacities_version_ = placers_.capacities_version();
    cycle_->set_capacities(placers_.capacities_mbps(), placers_.up_mbps());
    cycle_->set_parts(placers_.parts());
  }
  cycle_->set_residual(placers_.residual_mbps());
  return *cycle_;
}

std::vector<EventBody> QueueRunner::run(const ClusterState& state, std::int64_t now_us) {
  const std::int64_t started_us = clock_();
  QueueFacts facts = book_.facts(state, now_us);
  GuaranteeGate gate(state, placers_.guarantees(), placers_.reach(state), searched_);
  scheduler::QueueCycle& queue = cycle(state);
  facts.keep(kept_);
  auto result = queue.run(state.allocations, input_of(facts, now_us, gate));
  std::vector<EventBody> events;
  hold_back(state, result, events);
  add_events(state, result, nullptr, gate, events);
  std::size_t notes = 0;
  const bool yields = facts.policy.place_wait.yields;
  for (const auto& waiting : result.waiting) {
    const bool for_place = waiting.reason.code == WaitCode::better_place;
    // While it leaves places to others, that there is none at times is no news.
    const bool is_yielding =
        yields && waiting.told == kind_of(WaitCode::better_place) && kind_of(waiting.reason.code) == 0;
    const bool is_told = notes >= kMaxNotes || is_yielding || waiting.told == kind_of(waiting.reason.code);
    if (is_told && !for_place) continue;
    const JobPtr job = state.jobs.find(JobId(waiting.job));
    // From the first place on, so that the bound of the wait is durable.
    const bool first_place = for_place && job->queue.place_until_us == 0;
    if (is_told && !first_place) continue;
    ++notes;
    events.emplace_back(JobWaits{job->id, std::string(railweave::to_text(waiting.reason.code)),
                                 scheduler::said(waiting.reason), first_place ? waiting.reason.at_us : 0});
  }
  kept_.clear();
  for (auto& kept : result.kept) kept_.emplace(kept.job, std::move(kept.gpus));
  more_to_do_ = events.size() > notes || notes >= kMaxNotes || gate.left_some();
  ran_at_version_ = state.queue_version;
  told_until_ = state.seq + events.size();
  auto view = std::make_shared<QueueView>();
  view->seq = state.seq;
  view->time_us = now_us;
  view->wake_us = result.wake_us;
  view->cycles = view_->cycles + 1;
  view->waiting = std::move(result.waiting);
  ran_at_us_ = clock_();
  view->took_us = ran_at_us_ - started_us;
  // The cycle's own time is no rest.
  rests_until_us_ = std::max(rests_until_us_, started_us) + view->took_us * (std::int64_t{rest_} + 1);
  view_ = std::move(view);
  return events;
}

QueueRunner::Verdict QueueRunner::try_start(const ClusterState& state, const JobPtr& job, std::int64_t now_us) {
  QueueFacts facts = book_.facts(state, now_us);
  scheduler::QueueCycle& queue = cycle(state);
  facts.keep(kept_);
  facts.queued.push_back(queued_job(*job));
  facts.queued.back().takes_any_place = true;
  SearchedJobs searched;  // the state may be one that never comes to be
  GuaranteeGate gate(state, placers_.guarantees(), placers_.reach(state), searched);
  auto result = queue.run(state.allocations, input_of(facts, now_us, gate));
  Verdict verdict;
  std::vector<EventBody> held_back;  // not asked for: it is not in the queue, so no job can make way for it
  hold_back(state, result, held_back);
  const auto started = std::ranges::find(result.starts, job->id.number(), &scheduler::StartedJob::job);
  if (started != result.starts.end()) {
    add_events(state, result, job, gate, verdict.events);
    verdict.placement = started->placement;
    if (const Grant* granted = gate.granted(started->job)) verdict.grant = *granted;
    return verdict;
  }
  const auto waits = std::ranges::find(result.waiting, job->id.number(), &scheduler::WaitingJob::job);
  if (waits != result.waiting.end()) verdict.reason = std::move(waits->reason);
  return verdict;
}

}  // namespace railweave::control
