#include "services/control/decide/start_forecast.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/placement/fit/allocation.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "scheduler/queue/cycle/time_profile.h"

namespace railweave::control {
namespace {

using scheduler::QueueJobId;
using scheduler::WaitCode;

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
  // up_mbps: by bundle, of the links that are up.
  QueueAhead(const ClusterState& state, std::int64_t now_us, scheduler::QueueCycle& cycle,
             const std::vector<double>& up_mbps)
      : state_(state),
        facts_(state, now_us),
        cycle_(cycle),
        traffic_(state.placement_fabric),
        allocations_(state.allocations),
        now_us_(now_us) {
    traffic_.set_capacities(up_mbps);
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
      if (looked_at_ > StartForecast::kMostJobsLookedAt) {
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
                                            .gate = nullptr,
                                            .explain = false});
    wake_us_ = result.wake_us;
    for (const auto& evicted : result.evictions) evict(evicted.job);
    for (auto& started : result.starts) start(started);
    for (auto& waiting : result.waiting) waits_[waiting.job] = std::move(waiting.reason);
    return !result.starts.empty() || !result.evictions.empty();
  }

  void release(QueueJobId id, const Holder& job) {
    traffic_.remove(id);
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
    job.started_us = now_us_;
    job.end_us = end_of(*job.spec, now_us_);
    job.assumed = !job.spec->expected_duration_s;
    job.gpus = started.placement.held_gpus();
    RAILWEAVE_CHECK(scheduler::take(allocations_, state_.topology(), job.gpus), "a placement takes free GPUs");
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
    const bool quota = waited != waits_.end() &&
                       (waited->second.code == WaitCode::tenant_quota || waited->second.code == WaitCode::cohort_quota);
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

  [[nodiscard]] std::int64_t next_time() const {
    std::int64_t next_us = wake_us_ > now_us_ ? wake_us_ : 0;
    for (const auto& [id, job] : running_) {
      if (next_us == 0 || job.end_us < next_us) next_us = job.end_us;
    }
    return next_us;
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

  // why: "" as the queue says of each.
  void give_up(const std::string& why) {
    for (const auto& [id, job] : queued_) {
      ExpectedStart start;
      const auto waits = waits_.find(id);
      start.unknown = !why.empty() && job.held.empty() ? why
                      : waits == waits_.end()          ? std::string("it is not known why it waits")
                                                       : scheduler::text(waits->second);
      answer_.by_job.try_emplace(JobId(id), std::move(start));
    }
  }

  const ClusterState& state_;
  const QueueFacts facts_;
  scheduler::QueueCycle& cycle_;
  scheduler::BundleTraffic traffic_;  // of running_
  scheduler::Allocations allocations_;
  std::optional<scheduler::FairShare> used_;
  std::int64_t now_us_, wake_us_ = 0;
  std::uint64_t looked_at_ = 0;
  QueueJobId wanted_ = 0;
  std::map<QueueJobId, Holder> running_;
  std::map<QueueJobId, scheduler::QueuedJob> queued_;
  std::map<QueueJobId, scheduler::WaitReason> waits_;  // as of the last cycle in which each waited
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
  QueueAhead ahead(state, now_us, *cycle_, placers.up_mbps());
  if (only == nullptr) return ahead.run(0);
  const QueueJobId id = candidate(state).number();
  ahead.add({id, only, now_us, 0, 0, {}});
  return ahead.run(id);
}

}  // namespace railweave::control
