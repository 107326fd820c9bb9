#include "services/railweave/assess/past_month.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "fabric/base/draws.h"
#include "scheduler/job/job_spec.h"
#include "services/railweave/assess/host_adapters.h"
#include "services/railweave/lab/replay/stretch.h"

namespace railweave::cli {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr std::size_t kResamples = 1000;

std::uint32_t gpus_of(const PastJob& job, std::uint32_t gpus_per_host) {
  return job.gpus > 0 ? job.gpus : job.nodes * gpus_per_host;
}

// A job's GPUs on its hosts: as many on each, by their local index; empty where the fabric has not all of them.
std::vector<fabric::GpuId> gpus_on(const fabric::Topology& t, const PastJob& job, std::uint32_t gpus) {
  std::vector<fabric::GpuId> used;
  if (job.hosts.empty() || gpus % job.hosts.size() != 0) return used;
  const std::size_t each = gpus / job.hosts.size();
  std::set<std::string> seen;
  for (const std::string& name : job.hosts) {
    const fabric::HostId host = host_named(t, name);
    if (!host || t.gpus(host).size() < each || !seen.insert(name).second) return {};
    std::size_t taken = 0;
    for (const fabric::GpuId gpu : t.gpus(host)) {
      if (taken++ < each) used.push_back(gpu);
    }
  }
  return used;
}

Interval resampled_sum(const std::vector<double>& values) {
  if (values.empty()) return {};
  Interval interval;
  interval.mean = std::accumulate(values.begin(), values.end(), 0.0);
  Draws draws(1);
  std::vector<double> sums;
  for (std::size_t r = 0; r < kResamples; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[draws.below(values.size())];
    sums.push_back(sum);
  }
  std::ranges::sort(sums);
  interval.low = sums[kResamples / 40];
  interval.high = sums[kResamples - 1 - kResamples / 40];
  return interval;
}

class PastReader {
 public:
  PastReader(const scheduler::PlacementFabricPtr& fabric, std::uint32_t gpus_per_host)
      : fabric_(fabric), gpus_per_host_(gpus_per_host) {}

  PastMonth read(std::vector<PastJob> jobs) {
    std::ranges::stable_sort(jobs, {}, &PastJob::submitted_s);
    const bool told = std::ranges::any_of(jobs, [](const PastJob& job) { return job.gpus > 0; });
    if (told) gpus_per_host_ = 0;
    month_.whole_hosts = !told;
    std::erase_if(jobs, [&](const PastJob& job) { return !is_replayed(job); });
    if (jobs.size() > kMaxReplayed) {
      month_.left_off += jobs.size() - kMaxReplayed;
      jobs.erase(jobs.begin(), jobs.end() - static_cast<std::ptrdiff_t>(kMaxReplayed));
    }
    month_.jobs = jobs.size();
    if (jobs.empty()) return std::move(month_);
    measure(jobs);
    judge_places(jobs);
    replay_all(jobs);
    return std::move(month_);
  }

 private:
  bool is_replayed(const PastJob& job) {
    const std::uint32_t gpus = gpus_of(job, gpus_per_host_);
    if (gpus == 0) ++month_.without_gpus;
    const bool larger = gpus > fabric_->hierarchy().total_capacity();
    if (larger) ++month_.larger_than_fabric;
    const bool too_long = job.ended_s - job.submitted_s > scheduler::JobSpec::kMaxDurationS;
    if (too_long) ++month_.left_off;
    return gpus > 0 && !larger && !too_long;
  }

  void measure(const std::vector<PastJob>& jobs) {
    std::vector<double> waits;
    std::int64_t last = 0;
    for (const PastJob& job : jobs) {
      waits.push_back(static_cast<double>(job.started_s - job.submitted_s));
      month_.gpu_h += gpus_of(job, gpus_per_host_) * static_cast<double>(job.ended_s - job.started_s) / kSecondsPerHour;
      last = std::max(last, job.ended_s);
    }
    month_.span_days = static_cast<double>(last - jobs.front().submitted_s) / (24 * kSecondsPerHour);
    month_.mean_wait_s = std::accumulate(waits.begin(), waits.end(), 0.0) / static_cast<double>(waits.size());
    std::ranges::sort(waits);
    month_.p95_wait_s = waits[waits.size() * 95 / 100];
  }

  void judge_places(const std::vector<PastJob>& jobs) {
    StretchedRuns predicted(fabric_, Stretch::predicted), spread(fabric_, Stretch::spread);
    const fabric::Topology& t = fabric_->topology();
    std::vector<double> lost;
    for (const PastJob& job : jobs) {
      note_unknown_hosts(t, job);
      const std::uint32_t gpus = gpus_of(job, gpus_per_host_);
      const auto used = job.hosts.size() > 1 ? gpus_on(t, job, gpus) : std::vector<fabric::GpuId>();
      if (used.size() != gpus) continue;
      ++month_.placed;
      const auto spec = trace_job_spec(gpus, static_cast<std::uint32_t>(gpus / job.hosts.size()));
      if (spread.factor(spec, used) > 1) ++month_.straddling;
      const double hours = static_cast<double>(job.ended_s - job.started_s) / kSecondsPerHour;
      lost.push_back(gpus * hours * (1 - 1 / predicted.factor(spec, used)));
    }
    month_.lost_gpu_h = resampled_sum(lost);
  }

  void note_unknown_hosts(const fabric::Topology& t, const PastJob& job) {
    bool unknown = false;
    for (const std::string& name : job.hosts) {
      if (host_named(t, name)) continue;
      unknown = true;
      month_.unknown_hosts.insert(name);
    }
    if (unknown) ++month_.on_unknown_hosts;
  }

  void replay_all(const std::vector<PastJob>& jobs) {
    JobTrace trace;
    std::map<std::string, std::uint32_t> tenants;
    for (const PastJob& job : jobs) {
      const auto [at, is_new] = tenants.emplace(job.user, static_cast<std::uint32_t>(trace.tenants.size()));
      if (is_new) trace.tenants.push_back(job.user);
      trace.jobs.push_back({.submitted_s = job.submitted_s - jobs.front().submitted_s,
                            .runs_s = std::max<std::int64_t>(1, job.ended_s - job.started_s),
                            .gpus = gpus_of(job, gpus_per_host_),
                            .tenant = at->second});
    }
    for (const char* policy : {"railweave", "tree"}) {
      ReplayOptions options;
      options.policy = policy;
      month_.replays.push_back(replay(fabric_, trace, options, [](std::uint64_t) {}));
    }
  }

  const scheduler::PlacementFabricPtr& fabric_;
  std::uint32_t gpus_per_host_;
  PastMonth month_;
};

}  // namespace

PastMonth past_month(const scheduler::PlacementFabricPtr& fabric, const std::vector<PastJob>& jobs,
                     std::uint32_t gpus_per_host) {
  return PastReader(fabric, gpus_per_host).read(jobs);
}

}  // namespace railweave::cli
