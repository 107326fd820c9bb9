#include "services/control/decide/start_forecast.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/job/alternative_shapes.h"
#include "scheduler/placement/fit/allocation.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "scheduler/queue/cycle/time_profile.h"

namespace railweave::control {
namespace {

using scheduler::QueueJobId;
using scheduler::WaitCode;

bool is_quota(const scheduler::WaitReason& reason) {
  return reason.code == WaitCode::tenant_quota || reason.code == WaitCode::cohort_quota;
}

// A job that holds GPUs: one that runs now, or is expected to start.
struct Holder {
  const scheduler::JobSpec* spec = nullptr;
  std::int64_t started_us = 0, saved_us = 0, end_us = 0;
  bool assumed = false;  // its end
  std::vector<fabric::GpuId> gpus;
};

// One run of the queue ahead.
class QueueAhead {
 public:
  QueueAhead(const ClusterState& state, std::int64_t now_us, scheduler::QueueCycle& cycle, PlacerCache& placers)
      : state_(state),
        facts_(state, now_us),
        cycle_(cycle),
        gate_(state, placers.guarantees(), placers.reach(state), searched_),
        traffic_(state.placement_fabric),
        allocations_(state.allocations),
        now_us_(now_us),
        free_gpus_(state.topology().gpus().size()) {
    gate_.look_ahead();
    traffic_.set_capacities(placers.up_mbps());
    cycle_.set_residual(traffic_.residual_mbps());
    if (facts_.policy.fair_share == scheduler::FairShareRule::decayed) used_ = *state.used;
    for (const auto& job : facts_.running) {
      const bool over = end_of(*job.spec, job.started_us) <= now_us;
      running_[job.id] = {job.spec,
                          job.started_us,
                          job.saved_us,
                          scheduler::expected_end_us(facts_.policy, job, now_us),
                          over || !job.spec->expected_duration_s,
                          {job.gpus.begin(), job.gpus.end()}};
      traffic_.add(job.id, *job.spec, job.gpus.first(scheduler::rank_count(job.spec->parallelism)));
    }
    for (const auto& [id, job] : running_) free_gpus_ -= job.gpus.size();
    for (const auto& job : facts_.queued) queued_[job.id] = job;
  }

  void add(const scheduler::QueuedJob& job) { queued_[job.id] = job; }

  // Until every job has its answer, or `wanted` has; 0: every job.
  StartForecasts run(QueueJobId wanted) {
    wanted_ = wanted;
    const std::int64_t begin_us = now_us_;
    while (!done()) {
      const bool more = cycle();
      if (done()) break;
      if (looked_at_ > StartForecast::kMaxJobsLookedAt) {
        give_up("too much is expected to happen before it for a forecast");
        break;
      }
      if (more) continue;
      const std::int64_t next_us = next_time();
      if (next_us == 0) {
        give_up({});
        break;
      }
      if (answer_.valid_until_us == 0) answer_.valid_until_us = next_us;
      now_us_ = next_us;
      end_jobs();
      // Cycles in which nothing can start are left out: of a large job there would be one for each job that runs.
      while (!some_may_start() && !running_.empty()) {
        now_us_ = next_end();
        end_jobs();
      }
    }
    if (answer_.valid_until_us == 0) answer_.valid_until_us = next_time() == 0 ? INT64_MAX : next_time();
    answer_.valid_until_us = std::max(answer_.valid_until_us, begin_us + 1);
    return std::move(answer_);
  }

 private:
  [[nodiscard]] std::int64_t end_of(const scheduler::JobSpec& spec, std::int64_t started_us) const {
    const std::int64_t duration_us =
        spec.expected_duration_s ? *spec.expected_duration_s * 1'000'000 : facts_.policy.default_duration_us;
    return started_us + std::max<std::int64_t>(1, duration_us);
  }
  [[nodiscard]] bool done() const {
    if (wanted_ != 0) return answer_.by_job.contains(JobId(wanted_));
    return std::ranges::all_of(queued_, [&](const auto& job) { return answer_.by_job.contains(JobId(job.first)); });
  }

  // What the queue does at this time. True: another cycle may do more.
  bool cycle() {
    std::vector<scheduler::QueuedJob> queued;
    std::vector<scheduler::RunningJob> running;
    for (const auto& [id, job] : queued_) queued.push_back(job);
    for (const auto& [id, job] : running_) running.push_back({id, job.spec, job.started_us, job.saved_us, job.gpus});
    looked_at_ += queued.size() + running.size() + 1;
    auto used = used_;
    if (used) {
      for (const auto& job : running) used->charge(job.spec->tenant, job.gpus.size(), job.started_us, now_us_);
    }
    auto result = cycle_.run(allocations_, {.policy = &facts_.policy,
                                            .queued = queued,
                                            .running = running,
                                            .used = used ? &*used : nullptr,
                                            .now_us = now_us_,
                                            .gate = &gate_,
                                            .explain = false});
    wake_us_ = result.wake_us;
    for (const auto& evicted : result.evictions) evict(evicted.job);
    for (auto& started : result.starts) start(started);
    kept_.clear();
    for (auto& [id, job] : queued_) job.kept = {};
    for (auto& kept : result.kept) {
      scheduler::QueuedJob& job = queued_.at(kept.job);
      job.place_until_us = kept.until_us;
      job.kept = kept_.emplace(kept.job, std::move(kept.gpus)).first->second;
    }
    for (auto& waiting : result.waiting) {
      if (looked_ == 0 && is_quota(waiting.reason)) quota_now_[waiting.job] = scheduler::said(waiting.reason);
      waits_[waiting.job] = std::move(waiting.reason);
    }
    ++looked_;
    return !result.starts.empty() || !result.evictions.empty();
  }

  void release(QueueJobId id, const Holder& job) {
    free_gpus_ += job.gpus.size();
    traffic_.remove(id);
    gate_.end(id);
    RAILWEAVE_CHECK(scheduler::release(allocations_, state_.topology(), job.gpus), "a job holds its GPUs");
    if (used_) used_->charge(job.spec->tenant, job.gpus.size(), job.started_us, now_us_);
  }

  void evict(QueueJobId id) {
    const Holder job = std::move(running_.extract(id).mapped());
    release(id, job);
    const JobPtr known = state_.jobs.find(JobId(id));
    const QueuePlace place = known ? known->place() : QueuePlace{now_us_, id};
    queued_[id] = {id, job.spec, place.since_us, known ? known->not_before_us : 0, place.number, {}};
    answer_.by_job.try_emplace(JobId(id));  // a job that runs now asks for no forecast
  }

  void start(scheduler::StartedJob& started) {
    const auto queued = queued_.extract(started.job);
    Holder job;
    job.spec = queued.mapped().spec;
    if (started.shape) {
      auto& taken = taken_shapes_.emplace_back(*job.spec);
      taken.parallelism = *started.shape;
      job.spec = &taken;
    }
    job.started_us = now_us_;
    job.end_us = end_of(*job.spec, now_us_);
    job.assumed = !job.spec->expected_duration_s;
    job.gpus = started.placement.held_gpus();
    RAILWEAVE_CHECK(scheduler::take(allocations_, state_.topology(), job.gpus), "a placement takes free GPUs");
    free_gpus_ -= job.gpus.size();
    traffic_.add(started.job, *job.spec, started.placement.gpu_of_rank);
    answer(started.job, job);
    running_[started.job] = std::move(job);
  }

  void answer(QueueJobId id, const Holder& job) {
    ExpectedStart start;
    start.at_us = now_us_;
    std::set<std::size_t> before;
    for (const auto gpu : job.gpus) {
      if (const auto at = ended_on_.find(gpu); at != ended_on_.end()) before.insert(at->second);
    }
    const auto waited = waits_.find(id);
    const bool quota = waited != waits_.end() && is_quota(waited->second);
    for (std::size_t i = 0; quota && i < ended_.size(); ++i) {
      if (ended_[i].tenant == job.spec->tenant || waited->second.code == WaitCode::cohort_quota) before.insert(i);
    }
    for (const std::size_t at : before) {
      start.assumed_ends += ended_[at].assumed ? 1 : 0;
      if (before.size() - start.earlier_ends > ExpectedStart::kMaxEnds) {
        ++start.earlier_ends;
      } else {
        start.ends.push_back(ended_[at]);
      }
    }
    answer_.by_job.try_emplace(JobId(id), std::move(start));
  }

  [[nodiscard]] std::int64_t next_end() const {
    std::int64_t next_us = 0;
    for (const auto& [id, job] : running_) {
      if (next_us == 0 || job.end_us < next_us) next_us = job.end_us;
    }
    return next_us;
  }
  [[nodiscard]] std::int64_t next_time() const {
    const std::int64_t end_us = next_end();
    return wake_us_ > now_us_ && (end_us == 0 || wake_us_ < end_us) ? wake_us_ : end_us;
  }
  // False: every job that waits needs more GPUs than no job has, and may evict none.
  [[nodiscard]] bool some_may_start() const {
    return std::ranges::any_of(queued_, [&](const auto& entry) {
      const scheduler::JobSpec& spec = *entry.second.spec;
      const auto* const priority = scheduler::find_class(facts_.policy, spec.priority);
      return scheduler::fewest_ranks(spec) <= free_gpus_ || (priority != nullptr && priority->may_preempt);
    });
  }

  void end_jobs() {
    for (auto at = running_.begin(); at != running_.end();) {
      const auto& [id, job] = *at;
      if (job.end_us > now_us_) {
        ++at;
        continue;
      }
      release(id, job);
      for (const auto gpu : job.gpus) ended_on_[gpu] = ended_.size();
      ended_.push_back({JobId(id), job.spec->tenant, job.end_us, job.assumed});
      at = running_.erase(at);
    }
  }

  // why: "" as the queue says of each. What a tenant holds is told as it is now, not as it will be when all has ended.
  void give_up(const std::string& why) {
    for (const auto& [id, job] : queued_) {
      ExpectedStart start;
      const auto now = quota_now_.find(id);
      const auto waits = waits_.find(id);
      start.unknown = !why.empty() && job.held.empty()                     ? Message(why)
                      : waits == waits_.end()                              ? Message("it is not known why it waits")
                      : now != quota_now_.end() && is_quota(waits->second) ? now->second
                                                                           : scheduler::said(waits->second);
      answer_.by_job.try_emplace(JobId(id), std::move(start));
    }
  }

  const ClusterState& state_;
  const QueueFacts facts_;
  scheduler::QueueCycle& cycle_;
  SearchedJobs searched_;
  GuaranteeGate gate_;                // of all cycles: guarantees end with their jobs
  scheduler::BundleTraffic traffic_;  // of running_
  scheduler::Allocations allocations_;
  std::optional<scheduler::FairShare> used_;
  std::int64_t now_us_, wake_us_ = 0;
  std::uint64_t free_gpus_;  // that no job has, in service or not
  std::uint64_t looked_at_ = 0;
  QueueJobId wanted_ = 0;
  std::deque<scheduler::JobSpec> taken_shapes_;  // of jobs with several
  std::map<QueueJobId, Holder> running_;
  std::map<QueueJobId, scheduler::QueuedJob> queued_;
  std::map<QueueJobId, std::vector<fabric::GpuId>> kept_;  // while they wait for better ones
  std::map<QueueJobId, scheduler::WaitReason> waits_;      // as of the last cycle in which each waited
  std::map<QueueJobId, Message> quota_now_;                // of those that wait for it in the first
  std::uint64_t looked_ = 0;                               // cycles
  std::vector<ExpectedStart::End> ended_;
  std::map<fabric::GpuId, std::size_t> ended_on_;  // the last job that a GPU had
  StartForecasts answer_;
};

}  // namespace

StartForecasts StartForecast::of(const ClusterState& state, std::int64_t now_us, PlacerCache& placers,
                                 const scheduler::JobSpec* only) {
  if (cycle_ == nullptr || fabric_ != state.placement_fabric) {
    fabric_ = state.placement_fabric;
    cycle_ = std::make_unique<scheduler::QueueCycle>(fabric_);
  }
  (void)placers.at(state);
  cycle_->set_capacities(placers.capacities_mbps(), placers.up_mbps());
  cycle_->set_parts(placers.parts());
  QueueAhead ahead(state, now_us, *cycle_, placers);
  if (only == nullptr) return ahead.run(0);
  const QueueJobId id = candidate(state).number();
  ahead.add({id, only, now_us, 0, 0, {}});
  return ahead.run(id);
}

}  // namespace railweave::control
