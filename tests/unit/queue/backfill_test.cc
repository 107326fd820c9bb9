// Backfill delays no job that it must not delay: against replays without backfill that count GPUs on their own.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::backfill_test {
namespace {

using namespace testing_support;

using Random = std::mt19937_64;

QueuePolicy plain(Backfill backfill) {
  QueuePolicy policy;
  policy.backfill = backfill;
  policy.fair_share = FairShareRule::none;
  policy.starvation_bound_us = INT64_MAX / 4;
  return policy;
}

constexpr unsigned kHosts = 6, kGpus = 4, kPerRack = 3;

std::vector<SimulatedJob> random_jobs(Random& random, bool shaped) {
  std::vector<SimulatedJob> jobs;
  std::int64_t at = 0;
  const std::size_t count = 20 + random() % 30;
  for (std::size_t i = 0; i < count; ++i) {
    at += static_cast<std::int64_t>(random() % 30);
    const std::uint32_t tensor = shaped ? 1U << random() % 3 : 1;
    const auto most = static_cast<std::uint32_t>((random() % 4 == 0 ? 24 : 10) / tensor);
    const auto blocks = 1 + static_cast<std::uint32_t>(random() % most);
    jobs.push_back(simulated_job(i + 1, tensor, blocks, at, 1 + static_cast<std::int64_t>(random() % 200)));
    if (shaped && tensor * blocks <= kGpus * kPerRack && random() % 4 == 0) {
      jobs.back().spec.job.required = fabric::LevelKind::rack;
    }
  }
  return jobs;
}

// Whole tensor groups on hosts, all in one rack where that is required: counted, not searched.
bool fits(const std::vector<unsigned>& free, const JobSpec& spec) {
  unsigned total = 0;
  unsigned best_rack = 0;
  for (unsigned rack = 0; rack < kHosts / kPerRack; ++rack) {
    unsigned here = 0;
    for (unsigned host = rack * kPerRack; host < (rack + 1) * kPerRack; ++host) {
      here += free[host] / spec.parallelism.tensor;
    }
    total += here;
    best_rack = std::max(best_rack, here);
  }
  return (spec.job.required ? best_rack : total) >= spec.parallelism.data;
}

// When the job would start if nothing else did any more.
std::int64_t start_alone(const SimulatedCluster& cluster, const CycleResult& result, QueueJobId head) {
  const auto& topology = cluster.fabric()->topology();
  std::vector<unsigned> free(kHosts, kGpus);
  std::multimap<std::int64_t, unsigned> ends;
  const auto add = [&](const std::vector<fabric::GpuId>& gpus, std::int64_t end) {
    for (const auto gpu : gpus) {
      const auto host = static_cast<unsigned>(topology.host(gpu).index());
      --free[host];
      ends.emplace(end, host);
    }
  };
  for (const auto id : cluster.running())
    add(cluster.job(id).gpus, cluster.job(id).started_us + cluster.job(id).runs_us);
  for (const auto& start : result.starts) {
    if (!start.passed_others) add(start.placement.gpu_of_rank, cluster.now_us() + cluster.job(start.job).runs_us);
  }
  std::int64_t at = cluster.now_us();
  for (auto end = ends.begin(); !fits(free, cluster.job(head).spec); ++end) {
    if (end == ends.end()) return INT64_MAX;
    at = end->first;
    ++free[end->second];
    while (std::next(end) != ends.end() && std::next(end)->first == at) ++free[(++end)->second];
  }
  return at;
}

TEST(EasyBackfill, NeverDelaysTheHeadOfTheQueue) {
  std::uint64_t heads = 0;
  std::uint64_t passed = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(400); ++seed) {
    Random random(seed);
    SimulatedCluster cluster(small_fabric(kHosts, kGpus, kPerRack), plain(Backfill::easy), random_jobs(random, true));
    std::map<QueueJobId, std::int64_t> promised;
    cluster.watch = [&](const CycleResult& result) {
      for (const auto& start : result.starts) passed += start.passed_others ? 1 : 0;
      for (const auto& waiting : result.waiting) {
        if (waiting.reason.code != WaitCode::no_capacity) continue;
        const std::int64_t alone = start_alone(cluster, result, waiting.job);
        ASSERT_EQ(waiting.reason.at_us, alone) << "seed " << seed << ", job " << waiting.job;
        const auto [at, added] = promised.emplace(waiting.job, alone);
        heads += added ? 1 : 0;
        at->second = std::min(at->second, alone);
        break;  // the first in the order
      }
    };
    cluster.run();
    ASSERT_EQ(cluster.broken, "") << "seed " << seed;
    for (const auto& [id, job] : cluster.jobs()) {
      ASSERT_GE(job.ended_us, 0) << "seed " << seed << ", job " << id << " never ran";
    }
    for (const auto& [id, at] : promised) {
      ASSERT_LE(cluster.job(id).started_us, at) << "seed " << seed << ", job " << id;
    }
  }
  EXPECT_GT(heads, part_of_seeds(2000));  // the test tests something
  EXPECT_GT(passed, part_of_seeds(2000));
}

// First come, first served on a heap of GPUs without shape: a simulation of its own.
std::map<QueueJobId, std::int64_t> first_come_first_served(const std::vector<SimulatedJob>& jobs) {
  std::map<QueueJobId, std::int64_t> starts;
  std::multimap<std::int64_t, std::uint64_t> ends;
  std::uint64_t free = kHosts * kGpus;
  std::int64_t now = 0;
  for (const auto& job : jobs) {
    now = std::max(now, job.arrives_us);
    const std::uint64_t gpus = rank_count(job.spec.parallelism);
    while (!ends.empty() && (ends.begin()->first <= now || free < gpus)) {
      now = std::max(now, ends.begin()->first);
      free += ends.begin()->second;
      ends.erase(ends.begin());
    }
    free -= gpus;
    starts[job.id] = now;
    ends.emplace(now + job.runs_us, gpus);
  }
  return starts;
}

// Where any GPUs will do, no job starts later than without backfill: earlier jobs start no later, so they end no later.
TEST(ConservativeBackfill, DelaysNoJobOnGpusWithoutShape) {
  std::uint64_t sooner = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(300); ++seed) {
    Random random(seed);
    const auto jobs = random_jobs(random, false);
    SimulatedCluster cluster(small_fabric(kHosts, kGpus, kPerRack), plain(Backfill::conservative), jobs);
    cluster.run();
    ASSERT_EQ(cluster.broken, "") << "seed " << seed;
    for (const auto& [id, at] : first_come_first_served(jobs)) {
      ASSERT_LE(cluster.job(id).started_us, at) << "seed " << seed << ", job " << id;
      sooner += cluster.job(id).started_us < at ? 1 : 0;
    }
  }
  EXPECT_GT(sooner, part_of_seeds(2000));
}

TEST(ConservativeBackfill, KeepsConservationOnShapedJobs) {
  for (std::uint64_t seed = 1; seed <= part_of_seeds(100); ++seed) {
    Random random(seed);
    SimulatedCluster cluster(small_fabric(kHosts, kGpus, kPerRack), plain(Backfill::conservative),
                             random_jobs(random, true));
    cluster.run();
    ASSERT_EQ(cluster.broken, "") << "seed " << seed;
    ASSERT_FALSE(cluster.jobs().empty());
    for (const auto& [id, job] : cluster.jobs()) ASSERT_GE(job.ended_us, 0) << "seed " << seed << ", job " << id;
  }
}

TEST(NoBackfill, IsFirstComeFirstServed) {
  for (std::uint64_t seed = 1; seed <= part_of_seeds(100); ++seed) {
    Random random(seed);
    const auto jobs = random_jobs(random, false);
    SimulatedCluster cluster(small_fabric(kHosts, kGpus, kPerRack), plain(Backfill::none), jobs);
    cluster.run();
    ASSERT_EQ(cluster.broken, "") << "seed " << seed;
    for (const auto& [id, at] : first_come_first_served(jobs)) {
      ASSERT_EQ(cluster.job(id).started_us, at) << "seed " << seed << ", job " << id;
    }
  }
}

// Jobs that run over or end early: nothing breaks, everybody runs in the end.
TEST(Backfill, SurvivesWrongExpectations) {
  for (const Backfill backfill : {Backfill::none, Backfill::easy, Backfill::conservative}) {
    for (std::uint64_t seed = 1; seed <= part_of_seeds(40); ++seed) {
      Random random(seed);
      auto jobs = random_jobs(random, true);
      for (auto& job : jobs) job.runs_us = 1 + static_cast<std::int64_t>(random() % 400) * kSecond;
      QueuePolicy policy = plain(backfill);
      policy.overrun_us = 10 * kSecond;
      SimulatedCluster cluster(small_fabric(kHosts, kGpus, kPerRack), policy, jobs);
      cluster.run();
      ASSERT_EQ(cluster.broken, "") << "seed " << seed;
      for (const auto& [id, job] : cluster.jobs()) ASSERT_GE(job.ended_us, 0) << "seed " << seed << ", job " << id;
    }
  }
}

}  // namespace
}  // namespace railweave::scheduler::backfill_test
