// Jobs of several shapes in the queue: which shape they take, counted from free hosts alone, and that no other job loses
// anything by it.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::shapes_test {
namespace {

using namespace testing_support;
using Random = std::mt19937_64;

constexpr unsigned kGpus = 4;  // of a host, which is a tensor group of the jobs here
constexpr std::size_t kHosts = 8;

// Replicas of a host each, from `least` to `most` of them.
SimulatedJob shaped_job(QueueJobId id, std::uint32_t least, std::uint32_t most, std::int64_t arrives_s,
                        std::int64_t runs_s) {
  SimulatedJob job = simulated_job(id, kGpus, most, arrives_s, runs_s);
  for (std::uint32_t data = least; least < most && data <= most; ++data) {
    job.spec.shapes.push_back(job.spec.parallelism);
    job.spec.shapes.back().data = data;
  }
  return job;
}

std::uint64_t hosts_of(const SimulatedJob& job) { return job.gpus.size() / kGpus; }

TEST(Shapes, TakeAsManyReplicasAsHostsAreFree) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const auto busy = static_cast<std::uint32_t>(random() % (kHosts + 1));
    const auto most = 1 + static_cast<std::uint32_t>(random() % kHosts);
    const auto least = 1 + static_cast<std::uint32_t>(random() % most);
    std::vector<SimulatedJob> jobs;
    if (busy > 0) jobs.push_back(simulated_job(1, kGpus, busy, 0, 1000));
    jobs.push_back(shaped_job(2, least, most, 10, 100));
    SimulatedCluster cluster(small_fabric(kHosts, kGpus, 4), {}, jobs);
    cluster.run(20 * kSecond);
    ASSERT_EQ(cluster.broken, "") << seed;
    const std::uint64_t free = kHosts - busy;
    const std::uint64_t expected = free < least ? 0 : std::min<std::uint64_t>(free, most);
    ASSERT_EQ(hosts_of(cluster.job(2)), expected) << "seed " << seed;
    cluster.run();
    ASSERT_EQ(cluster.broken, "") << seed;
    ASSERT_GE(cluster.job(2).ended_us, 0) << "seed " << seed;
    if (free < least) {  // it holds its place, and takes all that is free when the other job has ended
      ASSERT_EQ(cluster.job(2).started_us, 1000 * kSecond);
      ASSERT_EQ(rank_count(cluster.job(2).spec.parallelism), std::uint64_t{most} * kGpus);
    }
  }
}

TEST(Shapes, AreBoundByTheQuota) {
  QueuePolicy policy;
  policy.tenants = {{.name = "t", .nominal_gpus = 3 * kGpus}};
  SimulatedCluster cluster(small_fabric(kHosts, kGpus, 4), policy, {shaped_job(1, 2, 6, 0, 100)});
  cluster.run(10 * kSecond);
  EXPECT_EQ(hosts_of(cluster.job(1)), 3U);
}

// Under EASY the first job that waits starts no later than it would if the others were not there at all, and what it
// takes are whole shapes of its request; all jobs end.
TEST(Shapes, OfOthersDelayNoHead) {
  for (const Backfill backfill : {Backfill::easy, Backfill::conservative, Backfill::none}) {
    for (std::uint64_t seed = 1; seed <= part_of_seeds(30); ++seed) {
      Random random(seed);
      QueuePolicy policy;
      policy.backfill = backfill;
      std::vector<SimulatedJob> jobs{simulated_job(1, kGpus, 5, 0, 500)};
      const auto head_hosts = 4 + static_cast<std::uint32_t>(random() % 5);
      jobs.push_back(simulated_job(2, kGpus, head_hosts, 10, 300));
      for (QueueJobId id = 3; id <= 25; ++id) {
        const auto most = 1 + static_cast<std::uint32_t>(random() % 6);
        const auto least = 1 + static_cast<std::uint32_t>(random() % most);
        jobs.push_back(shaped_job(id, least, most, 20 + static_cast<std::int64_t>(random() % 400),
                                  20 + static_cast<std::int64_t>(random() % 600)));
      }
      SimulatedCluster cluster(small_fabric(kHosts, kGpus, 4), policy, jobs);
      cluster.run();
      ASSERT_EQ(cluster.broken, "") << to_text(backfill) << ", seed " << seed;
      ASSERT_EQ(cluster.job(2).started_us, 500 * kSecond) << to_text(backfill) << ", seed " << seed;
      for (const auto& [id, job] : cluster.jobs()) {
        ASSERT_GE(job.ended_us, 0) << "job " << id;
        if (job.spec.shapes.empty()) continue;
        ASSERT_NE(std::ranges::find(job.spec.shapes, job.spec.parallelism), job.spec.shapes.end()) << id;
      }
    }
  }
}

// A job whose large shape would delay the head starts beside it in a small one.
TEST(Shapes, AreTriedUntilOneDelaysNoHead) {
  std::vector<SimulatedJob> jobs{simulated_job(1, kGpus, 4, 0, 500), simulated_job(2, kGpus, 7, 10, 300),
                                 shaped_job(3, 1, 4, 20, 5000)};
  SimulatedCluster cluster(small_fabric(kHosts, kGpus, 4), {}, jobs);
  cluster.run(30 * kSecond);
  EXPECT_EQ(hosts_of(cluster.job(3)), 1U) << "four hosts are free, of which the head needs three when job 1 has ended";
  cluster.run();
  EXPECT_EQ(cluster.job(2).started_us, 500 * kSecond);
}

}  // namespace
}  // namespace railweave::scheduler::shapes_test
