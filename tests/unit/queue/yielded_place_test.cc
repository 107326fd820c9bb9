// Jobs that yield slow places to others, against a naive queue that counts free GPUs by node and knows of no placement: on
// this fabric a ring is fast on one node alone. Seeded streams; durations are not as jobs say.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "tests/support/seeds.h"
#include "tests/unit/queue/ring_jobs.h"
#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::yielded_place_test {
namespace {

using namespace testing_support;
using Random = std::mt19937_64;
using ::testing::HasSubstr;

constexpr std::uint32_t kNode = 8;  // GPUs
constexpr std::size_t kNodes = 6;
constexpr std::int64_t kMost = 900;
constexpr double kShare = 0.5;

QueuePolicy yielding(Backfill backfill) {
  QueuePolicy policy;
  policy.backfill = backfill;
  policy.fair_share = FairShareRule::none;
  policy.classes = {{"low", -1, false, false}, {"high", 1, false, false}};
  policy.place_wait = {.gain = 0.2, .share = kShare, .most_us = kMost * kSecond, .yields = true};
  policy.starvation_bound_us = 1'000'000 * kSecond;
  policy.default_duration_us = 700 * kSecond;
  return policy;
}

std::vector<SimulatedJob> random_jobs(Random& random) {
  std::vector<SimulatedJob> jobs;
  std::int64_t at = 0;
  for (QueueJobId id = 1; id <= 80; ++id) {
    at += static_cast<std::int64_t>(random() % 150);
    const bool silent = random() % 6 == 0;  // says no duration, so it never waits for a place
    const auto gpus = 1 + static_cast<std::uint32_t>(random() % (silent ? 2 * kNode : kNode));
    const auto runs = 20 + static_cast<std::int64_t>(random() % 3000);
    jobs.push_back(ring(id, gpus, at, runs));
    jobs.back().runs_us = runs * kSecond * static_cast<std::int64_t>(50 + random() % 100) / 100;
    if (silent) jobs.back().spec.expected_duration_s.reset();
    if (random() % 4 == 0) jobs.back().spec.traffic.reset();  // computes most of the time: fast enough anywhere
    if (random() % 5 == 0) jobs.back().spec.priority = random() % 2 == 0 ? "high" : "low";
  }
  return jobs;
}

// EASY backfill where picky jobs fit on one node alone.
class NaiveQueue {
 public:
  NaiveQueue(const SimulatedCluster& cluster, std::map<QueueJobId, std::int64_t>& first_place_us)
      : cluster_(cluster), now_us_(cluster.now_us()), first_place_us_(first_place_us) {
    for (const auto id : cluster.running()) hold(cluster.job(id), cluster.job(id).gpus, cluster.job(id).started_us);
  }

  // What is wrong with the decisions; empty: nothing.
  std::string check(const CycleResult& result) {
    for (const auto& start : result.starts) started_[start.job] = start.placement.gpu_of_rank;
    for (const auto& waiting : result.waiting) reasons_[waiting.job] = &waiting.reason;
    std::vector<QueueJobId> order = cluster_.queued();
    std::ranges::sort(order, {}, [&](QueueJobId id) {
      const SimulatedJob& job = cluster_.job(id);
      const int value = job.spec.priority == "high" ? 1 : job.spec.priority == "low" ? -1 : 0;
      return std::tuple(-value, job.arrives_us, id);
    });
    for (const auto& kept : result.kept) {
      if (!kept.gpus.empty()) return "job " + std::to_string(kept.job) + " keeps GPUs";
    }
    for (const auto id : order) {
      const std::string wrong = decide(id);
      if (!wrong.empty()) return "job " + std::to_string(id) + " " + wrong;
    }
    return {};
  }

 private:
  struct Held {
    std::vector<std::size_t> on;  // node of each GPU
    std::int64_t end_us;
  };
  [[nodiscard]] std::int64_t said_us(const SimulatedJob& job) const {
    return job.spec.expected_duration_s ? *job.spec.expected_duration_s * kSecond
                                        : cluster_.policy().default_duration_us;
  }
  void hold(const SimulatedJob& job, const std::vector<fabric::GpuId>& gpus, std::int64_t from_us) {
    Held held{{}, from_us + said_us(job)};
    if (held.end_us <= now_us_) held.end_us = now_us_ + cluster_.policy().overrun_us;
    for (const auto gpu : gpus) held.on.push_back(cluster_.fabric()->topology().host(gpu).index());
    held_.push_back(std::move(held));
  }
  [[nodiscard]] std::vector<std::uint32_t> free_at(std::int64_t at_us) const {
    std::vector<std::uint32_t> free(kNodes, kNode);
    for (const Held& held : held_) {
      if (held.end_us <= at_us) continue;
      for (const std::size_t node : held.on) --free[node];
    }
    return free;
  }
  [[nodiscard]] bool fits(const SimulatedJob& job, bool on_one, std::int64_t at_us) const {
    const auto free = free_at(at_us);
    const auto gpus = rank_count(job.spec.parallelism);
    std::uint64_t all = 0;
    for (const auto one : free) all += one;
    return on_one ? *std::ranges::max_element(free) >= gpus : all >= gpus;
  }
  [[nodiscard]] std::int64_t until_us(const SimulatedJob& job) const {
    const auto first = first_place_us_.find(job.id);
    const std::int64_t since_us = first == first_place_us_.end() ? now_us_ : first->second;
    return since_us + std::min(kMost * kSecond, said_us(job) / 2);
  }

  std::string decide(QueueJobId id) {
    const SimulatedJob& job = cluster_.job(id);
    const bool picky = job.spec.expected_duration_s && job.spec.traffic && until_us(job) > now_us_;
    const bool fits_now = fits(job, picky, now_us_), any = fits(job, false, now_us_);
    const auto start = started_.find(id);
    if (start != started_.end()) return check_start(job, start->second, picky, fits_now);
    const WaitReason& reason = *reasons_.at(id);
    if (picky && any && !fits_now && reason.code != WaitCode::better_place) return "is not told that it yields a place";
    if (reason.code == WaitCode::better_place) {
      if (!picky) return "waits for a better place beyond its bound";
      if (reason.at_us != until_us(job)) return "is told another bound";
      first_place_us_.emplace(id, now_us_);
    }
    if (!head_) {
      if (fits_now) return "fits, and does not start";
      head_ = id;
      plan_head(job, picky);
      return {};
    }
    const bool is_over = now_us_ + said_us(job) <= head_at_us_;
    if (fits_now && is_over) return "delays nothing, and does not start";
    return {};
  }

  std::string check_start(const SimulatedJob& job, const std::vector<fabric::GpuId>& gpus, bool picky, bool fits_now) {
    if (!fits_now) return "starts where it does not fit";
    hold(job, gpus, now_us_);
    const auto& on = held_.back().on;
    if (picky && std::ranges::any_of(on, [&](std::size_t node) { return node != on.front(); })) {
      return "starts on a slow place before its bound";
    }
    if (!head_) return {};
    if (!fits(cluster_.job(*head_), head_on_one_, head_at_us_)) return "delays the head of the queue";
    return {};
  }

  // On one node by its bound, or anywhere from then on.
  void plan_head(const SimulatedJob& job, bool picky) {
    std::vector<std::int64_t> ends;
    for (const Held& held : held_) ends.push_back(held.end_us);
    std::ranges::sort(ends);
    if (picky) {
      for (const auto at : ends) {
        if (at > until_us(job)) break;
        if (!fits(job, true, at)) continue;
        head_on_one_ = true;
        head_at_us_ = at;
        return;
      }
      ends.insert(ends.begin(), until_us(job));
      std::ranges::sort(ends);
    }
    for (const auto at : ends) {
      if ((picky && at < until_us(job)) || !fits(job, false, at)) continue;
      head_at_us_ = at;
      return;
    }
  }

  const SimulatedCluster& cluster_;
  std::int64_t now_us_;
  std::map<QueueJobId, std::int64_t>& first_place_us_;
  std::map<QueueJobId, std::vector<fabric::GpuId>> started_;
  std::map<QueueJobId, const WaitReason*> reasons_;
  std::vector<Held> held_;
  std::optional<QueueJobId> head_;
  bool head_on_one_ = false;
  std::int64_t head_at_us_ = 0;
};

struct Seen {
  std::map<QueueJobId, std::int64_t> first_place_us, started_us;
  std::map<PlaceWaitEnd, std::uint64_t> ends;
  std::string broken;
};

Seen run(const PlacementFabricPtr& fabric, Backfill backfill, const std::vector<SimulatedJob>& jobs, bool checked) {
  SimulatedCluster cluster(fabric, yielding(backfill), jobs);
  Seen seen;
  cluster.watch = [&](const CycleResult& result) {
    for (const auto& start : result.starts) {
      seen.started_us.emplace(start.job, cluster.now_us());
      ++seen.ends[start.waited];
    }
    if (!checked || !seen.broken.empty()) return;
    seen.broken = NaiveQueue(cluster, seen.first_place_us).check(result);
    if (!seen.broken.empty()) seen.broken += " at " + std::to_string(cluster.now_us() / kSecond) + " s";
  };
  cluster.run();
  if (seen.broken.empty()) seen.broken = cluster.broken;
  for (const auto& [id, job] : cluster.jobs()) {
    if (job.ended_us < 0 && seen.broken.empty()) seen.broken = "job " + std::to_string(id) + " never ran";
  }
  return seen;
}

TEST(YieldedPlace, IsDecidedAsByANaiveQueue) {
  constexpr std::uint64_t kSeeds = 80;
  const auto fabric = networked_fabric(std::to_string(kNodes));
  std::map<PlaceWaitEnd, std::uint64_t> ends;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(kSeeds); ++seed) {
    Random random(seed);
    const auto jobs = random_jobs(random);
    const Seen seen = run(fabric, Backfill::easy, jobs, true);
    ASSERT_EQ(seen.broken, "") << "seed " << seed;
    for (const auto& [end, count] : seen.ends) ends[end] += count;
    if (seed % 10 == 0) {
      const Seen again = run(fabric, Backfill::easy, jobs, false);
      ASSERT_EQ(again.started_us, seen.started_us) << "seed " << seed;
    }
  }
  // Else this tests nothing.
  EXPECT_GE(ends[PlaceWaitEnd::better], part_of_seeds(kSeeds * 3));
  EXPECT_GE(ends[PlaceWaitEnd::over], part_of_seeds(kSeeds));
}

// Backfill reserves places for many: what it decides is counted elsewhere, but all of them run, the same each time.
TEST(YieldedPlace, EndsWithConservativeBackfillToo) {
  const auto fabric = networked_fabric(std::to_string(kNodes));
  std::uint64_t better = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    const auto jobs = random_jobs(random);
    Seen seen = run(fabric, Backfill::conservative, jobs, false);
    ASSERT_EQ(seen.broken, "") << "seed " << seed;
    better += seen.ends[PlaceWaitEnd::better];
    ASSERT_EQ(run(fabric, Backfill::conservative, jobs, false).started_us, seen.started_us) << "seed " << seed;
  }
  EXPECT_GE(better, 6U);
}

// Two half-full nodes, and a ring of 6 GPUs that would be slow over both.
std::vector<SimulatedJob> half_full(std::int64_t first_runs_s) {
  return {ring(1, 5, 0, first_runs_s), ring(2, 5, 0, 10'000), ring(3, 6, 10, 1'000)};
}

TEST(YieldedPlace, GoesToOthersMeanwhile) {
  auto jobs = half_full(400);
  jobs.push_back(ring(4, 3, 20, 200));
  jobs.push_back(ring(5, 3, 20, 200));
  SimulatedCluster cluster(networked_fabric("2"), yielding(Backfill::easy), jobs);
  std::optional<WaitReason> reason;
  cluster.watch = [&](const CycleResult& result) {
    for (const auto& waiting : result.waiting) {
      if (waiting.job == 3 && !reason) reason = waiting.reason;
    }
  };
  cluster.run();
  ASSERT_EQ(cluster.broken, "");
  EXPECT_EQ(cluster.job(4).started_us, 20 * kSecond);
  EXPECT_EQ(cluster.job(5).started_us, 20 * kSecond) << "on what job 3 could have";
  EXPECT_EQ(cluster.job(3).started_us, 400 * kSecond) << "when a node has room for it";
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->at_us, (10 + 500) * kSecond);
  EXPECT_GT(reason->here_us, 1.2 * reason->best_us);
  EXPECT_THAT(said(*reason).whole_text(), HasSubstr("leaves places where it would be at least"));
}

TEST(YieldedPlace, IsTakenFromTheBoundOn) {
  auto jobs = half_full(10'000);
  jobs.push_back(ring(4, 3, 20, 470));    // over by then
  jobs.push_back(ring(5, 3, 30, 9'000));  // would hold what is reserved for job 3 from its bound on
  SimulatedCluster cluster(networked_fabric("2"), yielding(Backfill::easy), jobs);
  cluster.run(9'000 * kSecond);
  ASSERT_EQ(cluster.broken, "");
  EXPECT_EQ(cluster.job(4).started_us, 20 * kSecond);
  EXPECT_EQ(cluster.job(3).started_us, (10 + 500) * kSecond);
  EXPECT_GT(cluster.job(5).started_us, cluster.job(3).started_us);
}

TEST(YieldedPlace, IsNoReasonToEvictOthers) {
  QueuePolicy policy = yielding(Backfill::easy);
  policy.classes = {{"low", -1, false, true}, {"high", 1, true, false}};
  auto jobs = half_full(400);
  for (auto& job : jobs) job.spec.priority = job.id == 3 ? "high" : "low";
  SimulatedCluster cluster(networked_fabric("2"), policy, jobs);
  cluster.run();
  ASSERT_EQ(cluster.broken, "");
  EXPECT_EQ(cluster.job(1).evictions + cluster.job(2).evictions, 0U);
  EXPECT_EQ(cluster.job(3).started_us, 400 * kSecond);
}

}  // namespace
}  // namespace railweave::scheduler::yielded_place_test
