#include "services/railweave/lab/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/queue/repair/stranded.h"
#include "services/railweave/lab/replay/contention.h"
#include "services/railweave/lab/replay/replay_queue.h"
#include "services/railweave/lab/replay/route_trial.h"

namespace railweave::cli {
namespace {

using namespace scheduler;
using fabric::LevelKind;

constexpr std::int64_t kContentionEveryUs = 3'600'000'000;
constexpr double kUs = 1e-6;
constexpr double kShortJobS = 600;  // shorter jobs count as this long, so that their slowdowns are meaningful

double at_share(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Predicted slowdowns of running jobs: of a job that starts, once, and of all jobs every hour.
class SlowdownSamples {
 public:
  explicit SlowdownSamples(const PlacementFabricPtr& fabric) : contention_(fabric) {}

  void start(JobIndex index, const ReplayJob& job) { contention_.start(index, job.spec, job.gpus); }
  void end(JobIndex index) { contention_.end(index); }
  // `started`: the jobs that started now, all of which run already.
  void sample(std::int64_t now_us, std::span<const JobIndex> started) {
    if (now_us < next_us_) {
      for (const JobIndex job : started) {
        if (contention_.sends(job)) sample(job);
      }
      return;
    }
    next_us_ = now_us + kContentionEveryUs;
    double sum = 0;
    const auto all = contention_.jobs();
    for (const std::uint64_t job : all) sum += sample(job);
    present_ = all.empty() ? 1 : sum / static_cast<double>(all.size());
  }
  // Mean slowdown of communication at the last hour.
  [[nodiscard]] double present() const { return present_; }
  [[nodiscard]] ReplaySlowdown report() const {
    std::vector<double> communication, steps;
    for (const auto& [job, sums] : sums_) {
      communication.push_back(sums.communication / static_cast<double>(sums.samples));
      steps.push_back(sums.step / static_cast<double>(sums.samples));
    }
    if (communication.empty()) return {};
    std::ranges::sort(communication);
    return {mean(communication), at_share(communication, 0.95), communication.back(), mean(steps)};
  }

 private:
  double sample(std::uint64_t job) {
    const Contention::Slowdown now = contention_.slowdown(job);
    Sums& sums = sums_[job];
    sums.communication += now.communication;
    sums.step += now.step;
    ++sums.samples;
    return now.communication;
  }

  struct Sums {
    double communication = 0, step = 0;
    std::uint64_t samples = 0;
  };
  Contention contention_;
  std::map<std::uint64_t, Sums> sums_;  // by job
  std::int64_t next_us_ = 0;
  double present_ = 1;
};

class Replay {
 public:
  Replay(const PlacementFabricPtr& fabric, const JobTrace& trace, const ReplayOptions& options)
      : fabric_(fabric),
        hierarchy_(fabric->hierarchy()),
        tree_(fabric->hierarchy_ptr()),
        allocations_(no_allocations(fabric->topology())),
        slowdowns_(fabric),
        stretched_(fabric, options.stretch, options.policy == kFollowedPolicy),
        routes_(options.routes) {
    report_.policy = options.policy;
    report_.backfill = railweave::to_text(options.backfill);
    report_.total_gpus = hierarchy_.total_capacity();
    rack_level_ = hierarchy_.level_of(LevelKind::rack);
    if (rack_level_ == Hierarchy::kNoLevel) rack_level_ = hierarchy_.level_of(LevelKind::leaf_group);
    if (rack_level_ == Hierarchy::kNoLevel) rack_level_ = hierarchy_.host_level();
    report_.spread.rack_level = to_string(hierarchy_.kind(rack_level_));
    domain_level_ = hierarchy_.level_of(LevelKind::nvlink_domain);
    if (domain_level_ == Hierarchy::kNoLevel) domain_level_ = hierarchy_.host_level();
    const bool is_own = is_own_policy(options.policy);
    const auto domain_gpus = std::max(1U, hierarchy_.max_capacity(0));
    for (const TraceJob& job : trace.jobs) {
      ReplayJob made{.spec = options.heavy ? heavy_job_spec(job.gpus) : trace_job_spec(job.gpus, domain_gpus)};
      if (options.segments && is_own) ask_for_segments(made.spec, hierarchy_.max_capacity(hierarchy_.host_level()));
      made.spec.tenant = trace.tenants[job.tenant];
      made.spec.expected_duration_s =
          std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(job.runs_s) * options.estimate_factor),
                                   1, JobSpec::kMaxDurationS);
      made.submitted_us = job.submitted_s * 1'000'000;
      made.runs_us = job.runs_s * 1'000'000;
      jobs_.push_back(std::move(made));
    }
    queue_ = is_own ? make_railweave_queue(fabric, options) : make_peer_queue(fabric, options);
  }

  ReplayReport run(const std::function<void(std::uint64_t)>& progress);

 private:
  void arrive(std::int64_t now_us);
  void end(std::int64_t now_us);
  void start(ReplayStart start, std::int64_t now_us);
  void measure(std::int64_t now_us);
  [[nodiscard]] std::uint64_t stranded_now();
  void count_spans(const ReplayJob& job);
  // Of the time from one moment to another, what counts for ReplayReport::loaded_utilisation.
  [[nodiscard]] double loaded_s(std::int64_t from_us, std::int64_t to_us) const;
  [[nodiscard]] std::int64_t fills_until_us() const;
  void summarise();
  void summarise_tenants();

  PlacementFabricPtr fabric_;
  const Hierarchy& hierarchy_;
  ReplayJobs jobs_;
  std::unique_ptr<ReplayQueue> queue_;
  unsigned rack_level_ = 0, domain_level_ = 0;
  PlacementTree tree_;
  Allocations allocations_;
  std::size_t next_ = 0;  // to arrive
  std::vector<JobIndex> waiting_, running_;
  using End = std::pair<std::int64_t, JobIndex>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t used_ = 0, ended_ = 0;
  std::int64_t last_us_ = 0;
  struct Runs {
    double busy_gpu_s = 0, loaded_gpu_s = 0, stranded_gpu_s = 0;
    double completion_s = 0, stretched_gpu_s = 0, traced_gpu_s = 0;
  };
  Runs runs_;
  std::vector<double> waits_;
  std::vector<JobIndex> done_;
  SlowdownSamples slowdowns_;
  StretchedRuns stretched_;
  RouteTrial* routes_;
  ReplayReport report_;
};

void Replay::arrive(std::int64_t now_us) {
  for (; next_ < jobs_.size() && jobs_[next_].submitted_us <= now_us; ++next_) {
    const std::uint64_t gpus = rank_count(jobs_[next_].spec.parallelism);
    if (gpus > report_.total_gpus) {
      ++report_.too_large;
      continue;
    }
    waiting_.push_back(static_cast<JobIndex>(next_));
  }
  report_.peak_queue = std::max<std::uint64_t>(report_.peak_queue, waiting_.size());
}

void Replay::end(std::int64_t now_us) {
  std::vector<JobIndex> over;
  for (; !ends_.empty() && ends_.top().first <= now_us; ends_.pop()) {
    ReplayJob& job = jobs_[ends_.top().second];
    queue_->ended(job, ends_.top().second);
    slowdowns_.end(ends_.top().second);
    if (routes_ != nullptr) routes_->end(ends_.top().second);
    RAILWEAVE_CHECK(release(allocations_, fabric_->topology(), job.gpus), "a running job holds its GPUs");
    used_ -= job.gpus.size();
    job.gpus = {};
    over.push_back(ends_.top().second);
    ++ended_;
  }
  if (over.empty()) return;
  std::erase_if(running_, [&](JobIndex job) { return jobs_[job].gpus.empty(); });
}

void Replay::start(ReplayStart start, std::int64_t now_us) {
  ReplayJob& job = jobs_[start.job];
  RAILWEAVE_CHECK(job.started_us < 0 && start.gpus.size() == rank_count(job.spec.parallelism),
                  "a job starts whole, once");
  RAILWEAVE_CHECK(take(allocations_, fabric_->topology(), start.gpus), "a start takes free GPUs");
  job.started_us = now_us;
  const double factor = stretched_.factor(job.spec, start.gpus);
  runs_.stretched_gpu_s += factor * static_cast<double>(job.runs_us) * kUs * static_cast<double>(start.gpus.size());
  runs_.traced_gpu_s += static_cast<double>(job.runs_us) * kUs * static_cast<double>(start.gpus.size());
  job.runs_us = std::llround(factor * static_cast<double>(job.runs_us));
  runs_.completion_s += static_cast<double>(now_us + job.runs_us - job.submitted_us) * kUs;
  job.gpus = std::move(start.gpus);
  used_ += job.gpus.size();
  running_.push_back(start.job);
  ends_.emplace(now_us + job.runs_us, start.job);
  waits_.push_back(static_cast<double>(now_us - job.submitted_us) * 1e-6);
  done_.push_back(start.job);
  count_spans(job);
  slowdowns_.start(start.job, job);
  if (routes_ != nullptr) routes_->start(start.job, job.spec, job.gpus);
}

void Replay::count_spans(const ReplayJob& job) {
  if (job.gpus.size() <= hierarchy_.max_capacity(hierarchy_.host_level())) return;
  std::set<GroupIndex> racks, domains;
  for (const auto gpu : job.gpus) {
    const LeafIndex leaf = hierarchy_.host_first_leaf(fabric_->topology().host(gpu));
    racks.insert(hierarchy_.group_of_leaf(rack_level_, leaf));
    domains.insert(hierarchy_.group_of_leaf(domain_level_, leaf));
  }
  const auto least = [&](unsigned level) {
    const std::uint64_t most = hierarchy_.max_capacity(level);
    return (job.gpus.size() + most - 1) / most;
  };
  ++report_.spread.jobs;
  report_.spread.racks += racks.size();
  report_.spread.least_racks += least(rack_level_);
  report_.spread.at_least_racks += racks.size() <= least(rack_level_) ? 1 : 0;
  report_.spread.domains += domains.size();
  report_.spread.least_domains += least(domain_level_);
}

double Replay::loaded_s(std::int64_t from_us, std::int64_t to_us) const {
  const std::int64_t last_us = jobs_.empty() ? 0 : jobs_.back().submitted_us;
  return kUs *
         static_cast<double>(std::max<std::int64_t>(0, std::min(to_us, last_us) - std::max(from_us, fills_until_us())));
}

std::int64_t Replay::fills_until_us() const {
  constexpr std::int64_t kFills = 10;  // a part of the time in which jobs arrive
  return jobs_.empty() ? 0 : jobs_.back().submitted_us / kFills;
}

std::uint64_t Replay::stranded_now() {
  if (waiting_.empty()) return 0;
  tree_.sync(allocations_);
  std::map<std::uint64_t, const JobSpec*> by_size;
  for (const JobIndex job : waiting_) by_size.emplace(rank_count(jobs_[job].spec.parallelism), &jobs_[job].spec);
  std::vector<const JobSpec*> specs;
  for (const auto& [gpus, spec] : by_size) specs.push_back(spec);
  return find_stranded(*fabric_, tree_, specs).stranded;
}

void Replay::measure(std::int64_t now_us) {
  report_.samples.push_back({now_us / 1'000'000, used_, stranded_now(), waiting_.size(), slowdowns_.present()});
}

void Replay::summarise() {
  report_.jobs = done_.size();
  if (!done_.empty()) report_.mean_completion_s = runs_.completion_s / static_cast<double>(done_.size());
  if (runs_.traced_gpu_s > 0) report_.mean_stretch = runs_.stretched_gpu_s / runs_.traced_gpu_s;
  std::vector<double> sorted = waits_;
  std::ranges::sort(sorted);
  report_.waits.mean_s = mean(sorted);
  report_.waits.p50_s = at_share(sorted, 0.5);
  report_.waits.p95_s = at_share(sorted, 0.95);
  report_.waits.p99_s = at_share(sorted, 0.99);
  report_.waits.most_s = sorted.empty() ? 0 : sorted.back();
  report_.makespan_s = last_us_ / 1'000'000;
  report_.stranded_gpu_h = runs_.stranded_gpu_s / 3600;
  const double whole = static_cast<double>(report_.total_gpus) * static_cast<double>(report_.makespan_s);
  report_.utilisation = whole > 0 ? runs_.busy_gpu_s / whole : 0;

  const double loaded = loaded_s(0, last_us_) * static_cast<double>(report_.total_gpus);
  report_.loaded_utilisation = loaded > 0 ? runs_.loaded_gpu_s / loaded : 0;
  report_.slowdown = slowdowns_.report();
  summarise_tenants();
}

void Replay::summarise_tenants() {
  struct OfTenant {
    std::vector<double> waits, slowdowns;
    double gpu_s = 0;
  };
  std::map<std::string, OfTenant> tenants;
  for (std::size_t i = 0; i < done_.size(); ++i) {
    const ReplayJob& job = jobs_[done_[i]];
    OfTenant& tenant = tenants[job.spec.tenant];
    const double runs_s = static_cast<double>(job.runs_us) * 1e-6;
    tenant.waits.push_back(waits_[i]);
    tenant.slowdowns.push_back(std::max(1.0, (waits_[i] + runs_s) / std::max(runs_s, kShortJobS)));
    tenant.gpu_s += runs_s * static_cast<double>(rank_count(job.spec.parallelism));
  }
  double sum = 0;
  double squares = 0;
  for (auto& [name, tenant] : tenants) {
    std::ranges::sort(tenant.waits);
    const double slowdown = mean(tenant.slowdowns);
    sum += slowdown;
    squares += slowdown * slowdown;
    report_.tenants.push_back(
        {name, tenant.waits.size(), tenant.gpu_s / 3600, mean(tenant.waits), at_share(tenant.waits, 0.95), slowdown});
  }
  if (squares > 0) report_.fairness = sum * sum / (static_cast<double>(tenants.size()) * squares);
  std::ranges::stable_sort(report_.tenants, [](const auto& a, const auto& b) { return a.gpu_h > b.gpu_h; });
}

ReplayReport Replay::run(const std::function<void(std::uint64_t)>& progress) {
  std::int64_t wake_us = 0;  // of jobs that could start
  while (next_ < jobs_.size() || !ends_.empty() || wake_us != 0) {
    std::int64_t now_us = wake_us == 0 ? INT64_MAX : wake_us;
    if (next_ < jobs_.size()) now_us = std::min(now_us, jobs_[next_].submitted_us);
    if (!ends_.empty()) now_us = std::min(now_us, ends_.top().first);
    if (!report_.samples.empty()) {
      const double passed_s = static_cast<double>(now_us - last_us_) * 1e-6;
      runs_.busy_gpu_s += passed_s * static_cast<double>(used_);
      runs_.loaded_gpu_s += loaded_s(last_us_, now_us) * static_cast<double>(used_);
      runs_.stranded_gpu_s += passed_s * static_cast<double>(report_.samples.back().stranded);
    }
    last_us_ = now_us;
    end(now_us);
    arrive(now_us);
    const std::size_t done = done_.size();
    if (!waiting_.empty()) {
      ++report_.cycles;
      auto starts = queue_->decide(now_us, jobs_, waiting_, running_);
      for (auto& one : starts) start(std::move(one), now_us);
      if (!starts.empty()) std::erase_if(waiting_, [&](JobIndex job) { return jobs_[job].started_us >= 0; });
    }
    wake_us = waiting_.empty() ? 0 : queue_->wake_us();
    slowdowns_.sample(now_us, std::span(done_).subspan(done));
    measure(now_us);
    if (routes_ != nullptr && next_ < jobs_.size()) routes_->sample(now_us, fills_until_us());
    if (report_.samples.size() % 64 == 0) progress(ended_);
  }
  summarise();
  return std::move(report_);
}

}  // namespace

bool is_own_policy(std::string_view policy) {
  return policy == "railweave" || policy == kWaitingPolicy || policy == kYieldingPolicy || policy == kFollowedPolicy ||
         policy == kRoutedPolicy || policy == kKepPolicy;
}

ReplayReport replay(const PlacementFabricPtr& fabric, const JobTrace& trace, const ReplayOptions& options,
                    const std::function<void(std::uint64_t)>& progress) {
  return Replay(fabric, trace, options).run(progress);
}

}  // namespace railweave::cli
