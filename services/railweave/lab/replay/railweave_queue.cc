#include <map>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/placement/score/routed_jobs.h"
#include "scheduler/queue/queue_cycle.h"
#include "services/railweave/lab/replay/replay_queue.h"
#include "services/railweave/lab/replay/replay_routes.h"

namespace railweave::cli {
namespace {

using namespace scheduler;

// Places that are chosen on routes, beside the jobs that run.
class RoutedStarts final : public StartGate {
 public:
  explicit RoutedStarts(const PlacementFabricPtr& fabric)
      : routes_(replay_routes(*fabric)), jobs_(fabric, routes_->view, routes_->routing.tables) {}

  Message start(const QueuedJob& job, Placement& placement, std::span<const QueueJobId> /*evicted*/,
                Placer& placer) override {
    (void)choose_on_routes(*job.spec, placement, placer, jobs_);
    jobs_.add(job.id, *job.spec, placement.gpu_of_rank);
    return {};
  }
  void end(QueueJobId job) { jobs_.remove(job); }

 private:
  std::unique_ptr<const ReplayRoutes> routes_;
  RoutedJobs jobs_;
};

class RailweaveQueue : public ReplayQueue {
 public:
  RailweaveQueue(const PlacementFabricPtr& fabric, const ReplayOptions& options)
      : fabric_(fabric),
        cycle_(fabric, {options.policy == kKepPolicy ? PlacementPolicy::best_fit : PlacementPolicy::cost}),
        allocations_(no_allocations(fabric->topology())) {
    policy_.backfill = options.backfill;
    policy_.fair_share = options.fair_share;
    policy_.starvation_bound_us = options.starvation_s > 0 ? options.starvation_s * 1'000'000 : INT64_MAX / 4;
    policy_.reserved_jobs = 32;
    policy_.place_wait = options.place_wait;
    policy_.place_wait.yields = options.policy == kYieldingPolicy || options.policy == kFollowedPolicy;
    if (options.policy != kWaitingPolicy && !policy_.place_wait.yields) policy_.place_wait.most_us = 0;
    used_ = FairShare(policy_.half_life_us);
    if (options.policy == kRoutedPolicy) routed_ = std::make_unique<RoutedStarts>(fabric);
  }

  std::vector<ReplayStart> decide(std::int64_t now_us, const ReplayJobs& jobs, const std::vector<JobIndex>& waiting,
                                  const std::vector<JobIndex>& running) override {
    queued_.clear();
    running_.clear();
    for (const JobIndex job : waiting) {
      QueuedJob queued{.id = job + 1U, .spec = &jobs[job].spec, .submitted_us = jobs[job].submitted_us};
      if (const auto until = place_until_us_.find(queued.id); until != place_until_us_.end()) {
        queued.place_until_us = until->second;
      }
      if (const auto kept = kept_.find(queued.id); kept != kept_.end()) queued.kept = kept->second;
      queued_.push_back(queued);
    }
    for (const JobIndex job : running) {
      running_.push_back({job + 1U, &jobs[job].spec, jobs[job].started_us, 0, jobs[job].gpus});
    }
    CycleResult result = cycle_.run(allocations_, {.policy = &policy_,
                                                   .queued = queued_,
                                                   .running = running_,
                                                   .used = &used_,
                                                   .now_us = now_us,
                                                   .gate = routed_.get(),
                                                   .explain = false});
    wake_us_ = policy_.place_wait.yields ? result.wake_us : 0;
    kept_.clear();
    for (auto& kept : result.kept) {
      place_until_us_[kept.job] = kept.until_us;
      if (!kept.gpus.empty()) kept_[kept.job] = std::move(kept.gpus);
    }
    std::vector<ReplayStart> starts;
    for (auto& start : result.starts) {
      auto gpus = start.placement.held_gpus();
      RAILWEAVE_CHECK(take(allocations_, fabric_->topology(), gpus), "starts take free GPUs");
      starts.push_back({static_cast<JobIndex>(start.job - 1), std::move(gpus)});
    }
    return starts;
  }

  [[nodiscard]] std::int64_t wake_us() const override {
    std::int64_t wake_us = wake_us_;
    for (const auto& [job, gpus] : kept_) {
      const std::int64_t until_us = place_until_us_.at(job);
      if (wake_us == 0 || until_us < wake_us) wake_us = until_us;
    }
    return wake_us;
  }

  void ended(const ReplayJob& job, JobIndex number) override {
    if (routed_) routed_->end(number + 1U);
    RAILWEAVE_CHECK(release(allocations_, fabric_->topology(), job.gpus), "a running job holds its GPUs");
    used_.charge(job.spec.tenant, job.gpus.size(), job.started_us, job.started_us + job.runs_us);
  }

 private:
  PlacementFabricPtr fabric_;
  std::unique_ptr<RoutedStarts> routed_;
  QueueCycle cycle_;
  QueuePolicy policy_;
  FairShare used_;
  Allocations allocations_;
  std::int64_t wake_us_ = 0;  // where jobs yield
  std::map<QueueJobId, std::int64_t> place_until_us_;
  std::map<QueueJobId, std::vector<fabric::GpuId>> kept_;  // by jobs that wait for a better place
  std::vector<QueuedJob> queued_;
  std::vector<RunningJob> running_;
};

}  // namespace

std::unique_ptr<ReplayQueue> make_railweave_queue(const PlacementFabricPtr& fabric, const ReplayOptions& options) {
  return std::make_unique<RailweaveQueue>(fabric, options);
}

}  // namespace railweave::cli
