// A cycle against a naive one that keeps nothing: every job is placed afresh, in an order found afresh, on allocations
// that are put together afresh for each question. EASY backfill, fair share, quotas, windows; no job may evict another.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/queue/cycle/job_digests.h"
#include "scheduler/queue/queue_cycle.h"
#include "tests/support/seeds.h"
#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::naive_cycle_test {
namespace {

using namespace testing_support;
using fabric::GpuId;

constexpr unsigned kHosts = 8, kGpus = 4, kPerRack = 4;
constexpr std::int64_t kNow = 1'000'000 * kSecond;

struct Case {
  PlacementFabricPtr fabric = small_fabric(kHosts, kGpus, kPerRack);
  QueuePolicy policy;
  Allocations allocations = no_allocations(fabric->topology());
  std::vector<JobSpec> running_specs, queued_specs;
  std::vector<std::vector<GpuId>> held;
  std::vector<RunningJob> running;
  std::vector<QueuedJob> queued;
};

JobSpec random_spec(std::mt19937_64& random) {
  JobSpec spec;
  spec.tenant = "t" + std::to_string(random() % 4);
  spec.priority = random() % 3 == 0 ? "high" : random() % 2 == 0 ? "normal" : "other";
  spec.parallelism.tensor = 1U << random() % 3;
  spec.parallelism.data = 1 + static_cast<std::uint32_t>(random() % (random() % 4 == 0 ? 6 : 2));
  if (random() % 5 == 0 && rank_count(spec.parallelism) <= std::uint64_t{kGpus} * kPerRack) {
    spec.job.required = fabric::LevelKind::rack;
  }
  if (random() % 5 != 0) spec.expected_duration_s = 10 + static_cast<std::int64_t>(random() % 10) * 50;
  return spec;
}

void fill(Case& made, std::mt19937_64& random) {
  Placer placer(made.fabric);
  made.running_specs.reserve(40);
  for (std::uint64_t i = 4 + random() % 12; i > 0; --i) {
    const JobSpec spec = random_spec(random);
    placer.sync(made.allocations);
    const auto placement = placer.try_place(spec);
    if (!placement || random() % 8 == 0) continue;
    if (!take(made.allocations, made.fabric->topology(), placement->gpu_of_rank)) std::abort();
    made.running_specs.push_back(spec);
    made.held.push_back(placement->gpu_of_rank);
  }
  for (std::size_t i = 0; i < made.held.size(); ++i) {
    const auto ran = static_cast<std::int64_t>(random() % 400) * kSecond;
    made.running.push_back({1 + i, &made.running_specs[i], kNow - ran, 0, made.held[i]});
    const auto release_s = 1 + static_cast<std::int64_t>(random() % 400);
    if (random() % 4 == 0) made.running.back().releases_us = kNow + release_s * kSecond;
  }
}

Case random_case(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Case made;
  made.policy.classes = {{"normal", 0, false, true}, {"high", 1, false, true}};
  made.policy.fair_share = random() % 3 == 0 ? FairShareRule::none : FairShareRule::running;
  made.policy.default_duration_us = 300 * kSecond;
  made.policy.starvation_bound_us = 2'000 * kSecond;
  made.policy.place_wait.most_us = 0;
  if (random() % 2 == 0) made.policy.tenants.push_back({.name = "t0", .nominal_gpus = 4 + random() % 8});
  made.policy.tenants.push_back({.name = "t1", .weight = 0.5});
  if (random() % 3 == 0) {
    const auto gpus = made.fabric->topology().gpus(fabric::HostId(random() % kHosts));
    const auto from = kNow + static_cast<std::int64_t>(random() % 300) * kSecond;
    made.policy.windows.push_back({.kind = QueueWindow::Kind::maintenance, .name = "w", .from_us = from});
    made.policy.windows.back().to_us = from + 200 * kSecond;
    made.policy.windows.back().gpus = {gpus.begin(), gpus.end()};
  }
  fill(made, random);
  const std::size_t count = 10 + random() % 50;
  for (std::size_t i = 0; i < count; ++i) made.queued_specs.push_back(random_spec(random));
  for (std::size_t i = 0; i < count; ++i) {
    QueuedJob job{.id = 100 + i, .spec = &made.queued_specs[i]};
    job.submitted_us = kNow - static_cast<std::int64_t>(random() % 2'100) * kSecond;
    if (random() % 20 == 0) job.held = "held";
    job.awaits_release = random() % 3 == 0;
    if (random() % 20 == 0) job.not_before_us = kNow + kSecond;
    made.queued.push_back(job);
  }
  return made;
}

struct Waits {
  QueueJobId job;
  WaitCode code;
  std::int64_t at_us;  // of the codes that say
  QueueJobId behind;
  friend bool operator==(const Waits&, const Waits&) = default;
};
struct Decided {
  std::vector<std::pair<QueueJobId, std::vector<GpuId>>> starts;
  std::vector<Waits> waiting;
};

class NaiveCycle {
 public:
  explicit NaiveCycle(const Case& of) : case_(of), left_(of.queued) {
    for (const RunningJob& job : of.running) {
      hold(*job.spec, {job.gpus.begin(), job.gpus.end()}, job.started_us);
      if (job.releases_us != 0) held_.back().end_us = job.releases_us;
    }
  }
  Decided run() {
    while (!left_.empty()) {
      const auto next = std::ranges::min_element(left_, {}, [&](const QueuedJob& job) { return turn_of(job); });
      const QueuedJob job = *next;
      left_.erase(next);
      decide(job);
    }
    return std::move(decided_);
  }

 private:
  struct Held {
    std::vector<GpuId> gpus;
    std::int64_t end_us;
  };
  [[nodiscard]] std::int64_t duration(const JobSpec& spec) const {
    return spec.expected_duration_s ? *spec.expected_duration_s * kSecond : case_.policy.default_duration_us;
  }
  void hold(const JobSpec& spec, std::vector<GpuId> gpus, std::int64_t from_us) {
    used_[spec.tenant] += gpus.size();
    const std::int64_t end_us = from_us + duration(spec);
    held_.push_back({std::move(gpus), end_us > kNow ? end_us : kNow + case_.policy.overrun_us});
  }
  [[nodiscard]] std::tuple<bool, int, double, std::int64_t, QueueJobId> turn_of(const QueuedJob& job) {
    if (kNow - job.submitted_us >= case_.policy.starvation_bound_us) return {false, 0, 0, job.submitted_us, job.id};
    double share = 0;
    if (case_.policy.fair_share != FairShareRule::none) {
      const double weight = job.spec->tenant == "t1" ? 0.5 : 1;
      share = static_cast<double>(used_[job.spec->tenant]) / (kHosts * kGpus * weight);
    }
    return {true, job.spec->priority == "high" ? -1 : 0, share, job.submitted_us, job.id};
  }
  // What is taken at some moment of that time; now: besides what is held now.
  [[nodiscard]] std::vector<GpuId> taken(std::int64_t from_us, std::int64_t to_us,
                                         const std::vector<GpuId>& more) const {
    std::vector<GpuId> gpus = more;
    for (const Held& one : held_) {
      if (one.end_us > from_us) gpus.insert(gpus.end(), one.gpus.begin(), one.gpus.end());
    }
    for (const QueueWindow& window : case_.policy.windows) {
      if (window.from_us < to_us && window.to_us > from_us) {
        gpus.insert(gpus.end(), window.gpus.begin(), window.gpus.end());
      }
    }
    std::ranges::sort(gpus);
    const auto again = std::ranges::unique(gpus);
    gpus.erase(again.begin(), again.end());
    return gpus;
  }
  [[nodiscard]] std::optional<Placement> place(const JobSpec& spec, std::int64_t from_us, std::int64_t to_us,
                                               const std::vector<GpuId>& more = {}) const {
    Allocations allocations = no_allocations(case_.fabric->topology());
    if (!take(allocations, case_.fabric->topology(), taken(from_us, to_us, more))) std::abort();
    Placer placer(case_.fabric);
    placer.sync(allocations);
    return placer.try_place(spec);
  }
  void wait(const QueuedJob& job, WaitCode code, std::int64_t at_us = 0, QueueJobId behind = 0) {
    decided_.waiting.push_back({job.id, code, at_us, behind});
  }
  void start(const QueuedJob& job, const Placement& placement) {
    decided_.starts.emplace_back(job.id, placement.gpu_of_rank);
    hold(*job.spec, placement.gpu_of_rank, kNow);
  }
  void decide(const QueuedJob& job) {
    if (!job.held.empty()) return wait(job, WaitCode::held);
    if (job.not_before_us > kNow) return wait(job, WaitCode::not_before, job.not_before_us);
    for (const TenantQuota& quota : case_.policy.tenants) {
      if (quota.name != job.spec->tenant || !quota.nominal_gpus) continue;
      if (used_[quota.name] + rank_count(job.spec->parallelism) > *quota.nominal_gpus) {
        return wait(job, WaitCode::tenant_quota);
      }
    }
    const std::int64_t until_us = kNow + duration(*job.spec);
    auto placement = place(*job.spec, kNow, until_us);
    if (!head_) return placement ? start(job, *placement) : become_head(job);
    if (!placement) return wait(job, WaitCode::behind, 0, head_->id);
    // What frees GPUs for the head may do so at any time, and then it starts.
    if (until_us > head_at_us_ || head_->awaits_release) {
      auto beside = place(*head_->spec, head_at_us_, head_at_us_ + duration(*head_->spec), placement->gpu_of_rank);
      if (beside) {
        head_gpus_ = beside->gpu_of_rank;
      } else if (placement = place(*job.spec, kNow, until_us, head_gpus_); !placement) {
        return wait(job, WaitCode::would_delay, head_at_us_, head_->id);
      }
    }
    start(job, *placement);
  }
  void become_head(const QueuedJob& job) {
    std::vector<std::int64_t> times{kNow};
    for (const Held& one : held_) times.push_back(one.end_us);
    for (const QueueWindow& window : case_.policy.windows) times.push_back(window.to_us);
    std::ranges::sort(times);
    for (const std::int64_t at_us : times) {
      const auto placement = place(*job.spec, at_us, at_us + duration(*job.spec));
      if (!placement) continue;
      head_ = job;
      head_at_us_ = at_us;
      head_gpus_ = placement->gpu_of_rank;
      return wait(job, WaitCode::no_capacity, at_us);
    }
    wait(job, WaitCode::no_known_time);
  }

  const Case& case_;
  std::vector<QueuedJob> left_;
  std::vector<Held> held_;
  std::map<std::string, std::uint64_t> used_;
  std::optional<QueuedJob> head_;
  std::int64_t head_at_us_ = 0;
  std::vector<GpuId> head_gpus_;
  Decided decided_;
};

Decided by_cycle(const Case& of, const std::vector<QueuedJob>& queued) {
  QueueCycle cycle(of.fabric);
  const CycleResult result =
      cycle.run(of.allocations,
                {.policy = &of.policy, .queued = queued, .running = of.running, .now_us = kNow, .explain = false});
  Decided decided;
  for (const auto& start : result.starts) decided.starts.emplace_back(start.job, start.placement.gpu_of_rank);
  for (const auto& [job, reason, told] : result.waiting) {
    EXPECT_EQ(told, static_cast<std::int8_t>(job % 100)) << "handed back as it was given";
    const bool says_when = reason.code == WaitCode::not_before || reason.code == WaitCode::no_capacity ||
                           reason.code == WaitCode::would_delay;
    const bool says_who = reason.code == WaitCode::behind || reason.code == WaitCode::would_delay;
    decided.waiting.push_back({job, reason.code, says_when ? reason.at_us : 0, says_who ? reason.job : 0});
  }
  return decided;
}

TEST(NaiveCycle, DecidesTheSame) {
  std::map<WaitCode, std::uint64_t> reasons;
  std::uint64_t starts = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(300); ++seed) {
    const Case of = random_case(seed);
    const Decided naive = NaiveCycle(of).run();
    std::vector<QueuedJob> queued = of.queued;
    for (QueuedJob& job : queued) job.told = static_cast<std::int8_t>(job.id % 100);
    JobDigests digests;
    for (const bool with_digests : {false, true}) {
      for (QueuedJob& job : queued) job.digest = with_digests ? digests.of(*job.spec) : JobDigest();
      const Decided decided = by_cycle(of, queued);
      ASSERT_EQ(decided.starts, naive.starts) << "seed " << seed;
      ASSERT_EQ(decided.waiting.size(), naive.waiting.size()) << "seed " << seed;
      for (std::size_t i = 0; i < naive.waiting.size(); ++i) {
        const Waits &is = decided.waiting[i], &wanted = naive.waiting[i];
        ASSERT_EQ(is, wanted) << "seed " << seed << ", job " << is.job << ": code " << static_cast<int>(is.code)
                              << " instead of job " << wanted.job << "'s " << static_cast<int>(wanted.code);
      }
    }
    starts += naive.starts.size();
    for (const Waits& one : naive.waiting) ++reasons[one.code];
  }
  EXPECT_GT(starts, part_of_seeds(400));
  for (const WaitCode code : {WaitCode::behind, WaitCode::no_capacity, WaitCode::would_delay, WaitCode::tenant_quota,
                              WaitCode::held, WaitCode::not_before}) {
    EXPECT_GT(reasons[code], part_of_seeds(100)) << static_cast<int>(code);
  }
}

// Digests tell apart what placement and order tell apart, also once they were cleared.
TEST(JobDigests, AreEqualWhereJobsAre) {
  std::mt19937_64 random(1);
  JobDigests digests;
  std::vector<JobSpec> specs;
  for (int i = 0; i < 60; ++i) specs.push_back(random_spec(random));
  for (int round = 0; round < 2; ++round) {
    std::vector<JobDigest> of;
    for (const JobSpec& spec : specs) of.push_back(digests.of(spec));
    for (std::size_t i = 0; i < specs.size(); ++i) {
      EXPECT_GT(of[i].tenant, 0U);
      EXPECT_EQ(of[i].gpus, rank_count(specs[i].parallelism));
      EXPECT_EQ(of[i].expected_duration_s, specs[i].expected_duration_s);
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_EQ(of[i].tenant == of[j].tenant, specs[i].tenant == specs[j].tenant);
        EXPECT_EQ(of[i].priority == of[j].priority, specs[i].priority == specs[j].priority);
        EXPECT_EQ(of[i].shape == of[j].shape, same_shape(specs[i], specs[j]));
      }
    }
    digests.clear();
  }
  specs.front().shapes = {{.tensor = 2}, {.tensor = 4}};
  EXPECT_EQ(digests.of(specs.front()).tenant, 0U) << "a job of several shapes has none";
  for (std::uint32_t i = 0; !digests.full(); ++i) {
    ASSERT_LE(i, JobDigests::kMaxKept);
    specs.back().tenant = "t" + std::to_string(i);
    (void)digests.of(specs.back());
  }
}

}  // namespace
}  // namespace railweave::scheduler::naive_cycle_test
