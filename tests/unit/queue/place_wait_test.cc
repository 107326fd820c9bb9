// Jobs that wait for a better place: what is promised of it, counted from what the queue said and did, in seeded queues.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "tests/support/seeds.h"
#include "tests/unit/queue/ring_jobs.h"
#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::place_wait_test {
namespace {

using namespace testing_support;
using Random = std::mt19937_64;
using ::testing::HasSubstr;

constexpr std::int64_t kMost = 120;
constexpr double kShare = 0.05;

QueuePolicy waiting_policy(Backfill backfill) {
  QueuePolicy policy;
  policy.backfill = backfill;
  policy.classes = {{"low", -1, false, false}, {"high", 1, false, false}};
  policy.place_wait = {.gain = 0.2, .share = kShare, .most_us = kMost * kSecond};
  policy.starvation_bound_us = 100'000 * kSecond;
  return policy;
}

std::vector<SimulatedJob> random_jobs(Random& random) {
  std::vector<SimulatedJob> jobs;
  std::int64_t at = 0;
  for (QueueJobId id = 1; id <= 70; ++id) {
    at += static_cast<std::int64_t>(random() % 120);
    const std::uint32_t gpus = random() % 3 == 0 ? 1 + static_cast<std::uint32_t>(random() % 16) : 1U << random() % 5;
    const auto runs = 20 + static_cast<std::int64_t>(random() % 4000);
    jobs.push_back(ring(id, gpus, at, runs));
    jobs.back().runs_us = runs * kSecond * static_cast<std::int64_t>(50 + random() % 100) / 100;  // not as it said
    if (random() % 8 == 0) jobs.back().spec.expected_duration_s.reset();
    if (random() % 4 == 0) jobs.back().spec.traffic->data.bytes = 1e3;  // it does not matter where
    if (random() % 5 == 0) jobs.back().spec.priority = random() % 2 == 0 ? "high" : "low";
    if (random() % 3 == 0) jobs.back().spec.tenant = "other";
  }
  return jobs;
}

// What it may wait at most, worked out from the request alone.
std::int64_t bound_us(const SimulatedJob& job) {
  const std::int64_t share = *job.spec.expected_duration_s * kSecond / 20;
  return std::min(share, kMost * kSecond);
}

bool same_claim(const SimulatedJob& a, const SimulatedJob& b) {
  return a.spec.priority == b.spec.priority && a.spec.tenant == b.spec.tenant &&
         a.spec.parallelism == b.spec.parallelism && a.spec.traffic == b.spec.traffic;
}

struct Observed {
  std::map<QueueJobId, std::int64_t> first_place_us;  // when it was first told that it waits for a better one
  std::map<QueueJobId, std::int64_t> started_us;
  std::map<QueueJobId, PlaceWaitEnd> ends;
  std::string broken;
};

// Runs the jobs, and checks in every cycle what must hold then.
Observed observe(const PlacementFabricPtr& fabric, const QueuePolicy& policy, const std::vector<SimulatedJob>& jobs) {
  SimulatedCluster cluster(fabric, policy, jobs);
  Observed seen;
  const auto fail = [&](QueueJobId job, const std::string& what) {
    if (seen.broken.empty()) seen.broken = "job " + std::to_string(job) + " " + what;
  };
  cluster.watch = [&](const CycleResult& result) {
    std::set<fabric::GpuId> taken;
    for (const auto& start : result.starts) {
      const SimulatedJob& job = cluster.job(start.job);
      for (const auto gpu : start.placement.held_gpus()) {
        if (!taken.insert(gpu).second) fail(start.job, "starts on GPUs of another");
      }
      seen.started_us.emplace(start.job, cluster.now_us());
      seen.ends.emplace(start.job, start.waited);
      const auto first = seen.first_place_us.find(start.job);
      if (first != seen.first_place_us.end() && cluster.now_us() > first->second + bound_us(job)) {
        fail(start.job, "waited for longer than it may");
      }
      for (const auto& waiting : result.waiting) {
        const SimulatedJob& earlier = cluster.job(waiting.job);
        if (waiting.reason.code == WaitCode::better_place && same_claim(earlier, job) &&
            std::pair(earlier.arrives_us, earlier.id) < std::pair(job.arrives_us, job.id)) {
          fail(start.job, "starts before one like it that came earlier");
        }
      }
    }
    for (const auto& kept : result.kept) {
      if (kept.gpus.size() != rank_count(cluster.job(kept.job).spec.parallelism))
        fail(kept.job, "keeps another number");
      for (const auto gpu : kept.gpus) {
        const auto& host = cluster.allocations()[fabric->topology().host(gpu).index()];
        const bool held = (host.used >> fabric->topology().local_index(gpu) & 1U) != 0;
        if (held || !taken.insert(gpu).second) fail(kept.job, "keeps GPUs that another has");
      }
    }
    for (const auto& waiting : result.waiting) {
      if (waiting.reason.code != WaitCode::better_place) {
        if (seen.first_place_us.contains(waiting.job)) fail(waiting.job, "lost the place that it had");
        continue;
      }
      const SimulatedJob& job = cluster.job(waiting.job);
      if (!job.spec.expected_duration_s) return fail(waiting.job, "says no duration and waits");
      seen.first_place_us.emplace(waiting.job, cluster.now_us());
      if (waiting.reason.at_us != seen.first_place_us.at(waiting.job) + bound_us(job))
        fail(waiting.job, "is told another time");
      if (std::ranges::find(result.kept, waiting.job, &KeptGpus::job) == result.kept.end())
        fail(waiting.job, "keeps nothing");
    }
  };
  cluster.run();
  if (!cluster.broken.empty() && seen.broken.empty()) seen.broken = cluster.broken;
  for (const auto& [id, job] : cluster.jobs()) {
    if (job.ended_us < 0) fail(id, "never started");
  }
  return seen;
}

TEST(PlaceWait, IsBoundedKeepsItsPlaceAndItsTurn) {
  constexpr std::uint64_t kSeeds = 60;
  const auto fabric = networked_fabric("6");
  std::map<PlaceWaitEnd, std::uint64_t> ends;
  std::uint64_t waited = 0;
  for (const Backfill backfill : {Backfill::easy, Backfill::conservative}) {
    for (std::uint64_t seed = 1; seed <= part_of_seeds(kSeeds); ++seed) {
      Random random(seed);
      const auto jobs = random_jobs(random);
      const Observed seen = observe(fabric, waiting_policy(backfill), jobs);
      ASSERT_EQ(seen.broken, "") << to_text(backfill) << ", seed " << seed;
      waited += seen.first_place_us.size();
      for (const auto& [job, end] : seen.ends) ++ends[end];
      if (seed % 10 == 0) {
        const Observed again = observe(fabric, waiting_policy(backfill), jobs);
        ASSERT_EQ(again.started_us, seen.started_us) << "seed " << seed;
      }
    }
  }
  // Else this tests nothing.
  EXPECT_GE(waited, part_of_seeds(kSeeds * 10 / 3));
  EXPECT_GE(ends[PlaceWaitEnd::better], part_of_seeds(kSeeds / 3));
  EXPECT_GE(ends[PlaceWaitEnd::over], part_of_seeds(kSeeds / 3));
}

TEST(PlaceWait, IsOffWhereThePolicySaysSo) {
  const auto fabric = networked_fabric("6");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    const auto jobs = random_jobs(random);
    QueuePolicy off = waiting_policy(Backfill::easy);
    off.place_wait.most_us = 0;
    EXPECT_TRUE(observe(fabric, off, jobs).first_place_us.empty());
    EXPECT_TRUE(observe(fabric, waiting_policy(Backfill::none), jobs).first_place_us.empty());
    QueuePolicy no_gain = waiting_policy(Backfill::easy);
    no_gain.place_wait.gain = PlaceWait::kMaxGain;
    EXPECT_TRUE(observe(fabric, no_gain, jobs).first_place_us.empty());
  }
}

// Two hosts are half full; the job of the first ends 30 s later.
std::vector<SimulatedJob> half_full(std::int64_t first_runs_s) {
  std::vector<SimulatedJob> jobs{ring(1, 5, 0, first_runs_s), ring(2, 5, 0, 10'000)};
  for (auto& job : jobs) job.spec.only_nodes = {};
  return jobs;
}

TEST(PlaceWait, EndsWhenABetterPlaceIsFree) {
  auto jobs = half_full(30);
  jobs.push_back(ring(3, 6, 10, 2000));
  SimulatedCluster cluster(networked_fabric("2"), waiting_policy(Backfill::easy), jobs);
  std::optional<WaitReason> reason;
  std::string why;
  cluster.watch = [&](const CycleResult& result) {
    for (const auto& waiting : result.waiting) reason = waiting.reason;
    for (const auto& start : result.starts) why = start.reason().whole_text();
  };
  cluster.run();
  ASSERT_EQ(cluster.broken, "");
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->code, WaitCode::better_place);
  EXPECT_EQ(reason->at_us, 110 * kSecond);
  EXPECT_GT(reason->here_us, 1.2 * reason->best_us);
  EXPECT_THAT(said(*reason).whole_text(), HasSubstr("% slower than at its best, and waits for a better one until"));
  EXPECT_EQ(cluster.job(3).started_us, 30 * kSecond);
  EXPECT_EQ(why, "the better place that it waited for is free");
}

TEST(PlaceWait, EndsInTimeWhereNoneGetsFree) {
  auto jobs = half_full(10'000);
  jobs.push_back(ring(3, 6, 10, 2000));
  SimulatedCluster cluster(networked_fabric("2"), waiting_policy(Backfill::easy), jobs);
  cluster.run(5000 * kSecond);
  ASSERT_EQ(cluster.broken, "");
  EXPECT_EQ(cluster.job(3).started_us, (10 + 100) * kSecond);  // 5% of 2000 s
}

// Others pass: on other GPUs than those that it keeps.
TEST(PlaceWait, LetsOthersPassBesideItsPlace) {
  std::vector<SimulatedJob> jobs{ring(1, 5, 0, 10'000), ring(2, 5, 0, 10'000), ring(3, 5, 0, 10'000)};
  jobs.push_back(ring(4, 6, 10, 2000));  // 3 + 3 of the 9 that are free
  jobs.push_back(ring(5, 3, 20, 500));
  jobs.push_back(ring(6, 1, 30, 500));
  SimulatedCluster cluster(networked_fabric("3"), waiting_policy(Backfill::easy), jobs);
  cluster.run(5000 * kSecond);
  ASSERT_EQ(cluster.broken, "");
  EXPECT_EQ(cluster.job(5).started_us, 20 * kSecond);
  EXPECT_EQ(cluster.job(4).started_us, 110 * kSecond);
  EXPECT_GE(cluster.job(6).started_us, 110 * kSecond) << "all other GPUs were kept";
}

// The patience of a later job with the same claim is shorter: the earlier one starts then, not behind it.
TEST(PlaceWait, ALaterJobLikeItDoesNotGoFirst) {
  std::vector<SimulatedJob> jobs{ring(1, 5, 0, 10'000), ring(2, 5, 0, 10'000), ring(3, 5, 0, 10'000),
                                 ring(4, 5, 0, 10'000)};
  jobs.push_back(ring(5, 6, 10, 2000));
  jobs.push_back(ring(6, 6, 11, 200));  // may wait 10 s
  SimulatedCluster cluster(networked_fabric("4"), waiting_policy(Backfill::easy), jobs);
  std::map<QueueJobId, PlaceWaitEnd> ends;
  cluster.watch = [&](const CycleResult& result) {
    for (const auto& start : result.starts) ends[start.job] = start.waited;
  };
  cluster.run(5000 * kSecond);
  ASSERT_EQ(cluster.broken, "");
  EXPECT_EQ(cluster.job(5).started_us, 21 * kSecond);
  EXPECT_EQ(cluster.job(6).started_us, 21 * kSecond);
  EXPECT_EQ(ends[5], PlaceWaitEnd::equal_next);
}

// A job that may evict others takes what a lower one keeps, which loses nothing by it.
TEST(PlaceWait, GivesWayToAJobThatMayEvict) {
  QueuePolicy policy = waiting_policy(Backfill::easy);
  policy.classes = {{"normal", 0, false, true}, {"high", 1, true, false}};
  std::vector<SimulatedJob> jobs = half_full(10'000);
  for (auto& job : jobs) job.spec.priority = "high";
  jobs.push_back(ring(3, 6, 10, 2000));
  jobs.back().spec.priority = "normal";
  jobs.push_back(ring(4, 3, 20, 60));
  jobs.back().spec.priority = "high";
  SimulatedCluster cluster(networked_fabric("2"), policy, jobs);
  cluster.run(5000 * kSecond);
  ASSERT_EQ(cluster.broken, "");
  EXPECT_EQ(cluster.job(4).started_us, 20 * kSecond);
  EXPECT_EQ(cluster.job(4).evictions + cluster.job(1).evictions + cluster.job(3).evictions, 0U);
  EXPECT_GE(cluster.job(3).started_us, 80 * kSecond);
}

}  // namespace
}  // namespace railweave::scheduler::place_wait_test
