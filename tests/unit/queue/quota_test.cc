// Quotas, borrowing and reclaim: invariants that hold at every step of random histories, said from the policy alone.
#include <gtest/gtest.h>

#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::quota_test {
namespace {

using namespace testing_support;
using Random = std::mt19937_64;

std::map<std::string, std::uint64_t> held(const SimulatedCluster& cluster) {
  std::map<std::string, std::uint64_t> gpus;
  for (const auto id : cluster.running()) gpus[cluster.job(id).spec.tenant] += cluster.job(id).gpus.size();
  return gpus;
}

QueuePolicy cohort_policy(Random& random, std::uint64_t total) {
  QueuePolicy policy;
  policy.classes = {{"low", -1, false, true}, {"normal", 0, false, true}, {"high", 1, true, true}};
  policy.least_run_us = 0;
  policy.backfill = static_cast<Backfill>(random() % 3);
  policy.fair_share = static_cast<FairShareRule>(random() % 3);
  policy.tenants = {{"a", total / 2, "research", {}, 1},
                    {"b", total / 4, "research", total / 8, 2},
                    {"c", total / 8, "research", {}, 1},
                    {"d", total / 8, "", {}, 1}};  // "e" has no quota
  return policy;
}

TEST(Quotas, HoldAtEveryStep) {
  std::uint64_t borrowed = 0;
  std::uint64_t reclaimed = 0;
  std::uint64_t by_priority = 0;
  std::uint64_t for_idle_holders = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    const QueuePolicy policy = cohort_policy(random, 32);
    std::vector<SimulatedJob> jobs;
    std::int64_t at = 0;
    for (QueueJobId id = 1; id <= 60; ++id) {
      at += static_cast<std::int64_t>(random() % 20);
      auto job = simulated_job(id, 1U << random() % 3, 1 + static_cast<std::uint32_t>(random() % 3), at,
                               1 + static_cast<std::int64_t>(random() % 150));
      job.spec.tenant = std::string(1, static_cast<char>('a' + random() % 5));
      job.spec.priority = random() % 4 == 0 ? "high" : random() % 2 == 0 ? "low" : "normal";
      if (seed % 2 == 0 && random() % 3 == 0 && job.spec.parallelism.tensor < 4) job.spec.spares_per_domain = 1;
      jobs.push_back(job);
    }
    SimulatedCluster cluster(small_fabric(8, 4, 4), policy, jobs);
    cluster.watch = [&](const CycleResult& result) {
      // Before: who is evicted for whom.
      auto gpus = held(cluster);
      std::map<QueueJobId, std::vector<QueueJobId>> victims;
      for (const auto& evicted : result.evictions) victims[evicted.in_favour_of].push_back(evicted.job);
      for (const auto& start : result.starts) {
        const auto& claimant = cluster.job(start.job).spec;
        const std::uint64_t holds = start.placement.held_gpus().size();
        auto& of = victims[start.job];
        // The largest last: each goes while its tenant still borrows.
        std::ranges::sort(of, {}, [&](QueueJobId id) { return cluster.job(id).gpus.size(); });
        for (const auto id : of) {
          const auto& victim = cluster.job(id).spec;
          const auto quota = std::ranges::find(policy.tenants, victim.tenant, &TenantQuota::name);
          const bool has_quota = quota != policy.tenants.end();
          if (victim.tenant != claimant.tenant && has_quota) {
            ASSERT_GT(gpus[victim.tenant], *quota->nominal_gpus)
                << "seed " << seed << ": a tenant within its quota lost a job to another";
          }
          const bool lower =
              find_class(policy, victim.priority)->value < find_class(policy, claimant.priority)->value &&
              find_class(policy, claimant.priority)->may_preempt;
          (lower ? by_priority : reclaimed) += 1;
          gpus[victim.tenant] -= cluster.job(id).gpus.size();
          if (!lower) {
            const auto own = std::ranges::find(policy.tenants, claimant.tenant, &TenantQuota::name);
            ASSERT_TRUE(own != policy.tenants.end() && !own->cohort.empty() && own->cohort == quota->cohort);
            ASSERT_LE(gpus[claimant.tenant] + holds, *own->nominal_gpus);
          }
        }
        gpus[claimant.tenant] += holds;
        if (holds > rank_count(claimant.parallelism) && claimant.tenant != "e") for_idle_holders += of.size();
        // After every start: no tenant above its limit, no cohort above what it owns.
        std::uint64_t cohort = 0;
        std::uint64_t owned = 0;
        for (const auto& quota : policy.tenants) {
          const std::uint64_t limit = quota.cohort.empty() ? *quota.nominal_gpus
                                      : quota.borrow_gpus  ? *quota.nominal_gpus + *quota.borrow_gpus
                                                           : UINT64_MAX;
          ASSERT_LE(gpus[quota.name], limit) << "seed " << seed;
          borrowed += gpus[quota.name] > *quota.nominal_gpus ? 1 : 0;
          if (!quota.cohort.empty()) cohort += gpus[quota.name], owned += *quota.nominal_gpus;
        }
        ASSERT_LE(cohort, owned) << "seed " << seed;
      }
    };
    cluster.run(100'000 * kSecond);
    ASSERT_EQ(cluster.broken, "") << "seed " << seed;
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(borrowed, 100U);
  EXPECT_GT(reclaimed, 20U);
  EXPECT_GT(by_priority, 20U);
  EXPECT_GT(for_idle_holders, 0U);
}

// What was lent comes back the moment its owner asks.
TEST(Quotas, AreReclaimedFromBorrowers) {
  QueuePolicy policy;
  policy.classes = {{"normal", 0, false, true}};
  policy.least_run_us = 0;
  policy.tenants = {{"owner", 16, "c", {}, 1}, {"guest", 16, "c", {}, 1}};
  std::vector<SimulatedJob> jobs;
  for (QueueJobId id = 1; id <= 8; ++id) {
    jobs.push_back(simulated_job(id, 4, 1, static_cast<std::int64_t>(id), 1000));
    jobs.back().spec.tenant = "guest";
  }
  jobs.push_back(simulated_job(9, 4, 4, 100, 1000));
  jobs.back().spec.tenant = "owner";
  jobs.push_back(simulated_job(10, 4, 1, 200, 1000));
  jobs.back().spec.tenant = "owner";
  SimulatedCluster cluster(small_fabric(8, 4, 4), policy, jobs);
  cluster.run(100 * kSecond);
  EXPECT_EQ(cluster.job(9).started_us, 100 * kSecond);
  EXPECT_EQ(held(cluster)["guest"], 16U);  // the youngest four went
  for (QueueJobId id = 1; id <= 8; ++id) EXPECT_EQ(cluster.job(id).evictions, id > 4 ? 1U : 0U) << id;
  cluster.run(200 * kSecond);
  EXPECT_EQ(cluster.job(10).started_us, -1);  // the owner has what it owns
  const CycleResult result = cluster.cycle();
  const auto waits = std::ranges::find(result.waiting, QueueJobId{10}, &WaitingJob::job);
  ASSERT_NE(waits, result.waiting.end());
  EXPECT_EQ(waits->reason.code, WaitCode::cohort_quota);
}

// A tenant's own jobs of lower priority make way where its quota is what blocks, free GPUs or not; the cheapest go.
TEST(Quotas, OwnJobsOfLowerPriorityMakeWay) {
  for (const bool in_cohort : {false, true}) {
    for (const bool behind_head : {false, true}) {
      QueuePolicy policy;
      policy.classes = {{"low", -1, false, true}, {"normal", 0, false, true}, {"high", 1, true, false}};
      policy.least_run_us = 0;
      policy.tenants = {{"a", 20, in_cohort ? "c" : "", {}, 1}};
      if (in_cohort) policy.tenants.push_back({"b", 0, "c", {}, 1});
      std::vector<SimulatedJob> jobs{simulated_job(1, 4, 3, 0, 1000), simulated_job(2, 4, 1, 50, 1000),
                                     simulated_job(3, 4, 3, 100, 800), simulated_job(4, 4, 7, 90, 10)};
      for (auto& job : jobs) job.spec.tenant = "a";
      jobs[0].spec.priority = jobs[1].spec.priority = "low";
      jobs[2].spec.priority = "high";
      jobs[3].spec.tenant = "none";
      jobs[3].spec.priority = "high";
      if (!behind_head) jobs.pop_back();
      SimulatedCluster cluster(small_fabric(8, 4, 4), policy, jobs);
      cluster.run(100 * kSecond);
      ASSERT_EQ(cluster.broken, "");
      if (behind_head) {  // the other tenant's job waits for GPUs that low jobs of this one hold, within its quota
        EXPECT_EQ(cluster.job(4).started_us, -1);
      }
      EXPECT_EQ(cluster.job(3).started_us, 100 * kSecond) << in_cohort << behind_head;
      EXPECT_EQ(cluster.job(1).evictions, 1U);  // 16 held, 12 needed of 20: the small one alone releases too little
      EXPECT_EQ(cluster.job(2).evictions, 0U);
    }
  }
}

TEST(Quotas, ReasonsNameNeedQuotaCohortAndTime) {
  QueuePolicy policy;
  policy.classes = {{"normal", 0, false, false}};
  policy.tenants = {{"a", 8, "c", 4, 1}, {"b", 8, "c", {}, 1}, {"d", 8, "", {}, 1}};
  std::vector<SimulatedJob> jobs{simulated_job(1, 4, 2, 0, 300), simulated_job(2, 4, 2, 0, 200),
                                 simulated_job(3, 4, 1, 1, 10),  simulated_job(4, 4, 2, 1, 10),
                                 simulated_job(5, 4, 1, 0, 100), simulated_job(6, 4, 2, 1, 10)};
  jobs[0].spec.tenant = jobs[2].spec.tenant = jobs[3].spec.tenant = "a";
  jobs[1].spec.tenant = "b";
  jobs[4].spec.tenant = jobs[5].spec.tenant = "d";
  SimulatedCluster cluster(small_fabric(16, 4, 4), policy, jobs);
  cluster.run(2 * kSecond);
  const CycleResult result = cluster.cycle();
  const auto reason = [&](QueueJobId id) {
    const auto waits = std::ranges::find(result.waiting, id, &WaitingJob::job);
    return waits == result.waiting.end() ? std::string("starts") : said(waits->reason).whole_text();
  };
  EXPECT_EQ(reason(3),
            "quota of tenant a: holds 8 of 8 GPUs and may borrow 4, the job needs 4, and cohort c has 0 of its 16 "
            "unused");
  EXPECT_EQ(reason(4), "quota of tenant a: holds 8 of 8 GPUs and may borrow 4, the job needs 8");
  EXPECT_EQ(reason(6), "quota of tenant d: holds 4 of 8 GPUs, the job needs 8");
  // When enough is released, for the order of what is tried then.
  const auto expected = [&](QueueJobId id) {
    const auto& other = std::ranges::find(result.waiting, id, &WaitingJob::job)->reason;
    return std::pair(other.at_us / kSecond, other.job);
  };
  EXPECT_EQ(expected(3), std::pair(std::int64_t{200}, QueueJobId{2}));
  EXPECT_EQ(expected(4), std::pair(std::int64_t{300}, QueueJobId{1}));
  EXPECT_EQ(expected(6), std::pair(std::int64_t{100}, QueueJobId{5}));
}

// Nothing else happens: the cycle wakes by itself when the victim has run for long enough.
TEST(Preemption, ComesWhenTheMinimumRuntimeEnds) {
  QueuePolicy policy;
  policy.classes = {{"low", -1, false, true}, {"high", 1, true, false}};
  policy.least_run_us = 60 * kSecond;
  std::vector<SimulatedJob> jobs{simulated_job(1, 4, 8, 5, 100'000), simulated_job(2, 4, 8, 10, 100)};
  jobs[0].spec.priority = "low";
  jobs[1].spec.priority = "high";
  SimulatedCluster cluster(small_fabric(8, 4, 4), policy, jobs);
  cluster.run();
  EXPECT_EQ(cluster.job(2).started_us, 65 * kSecond);
}

TEST(FairShare, OrdersTenantsByWeightAndUsage) {
  QueuePolicy policy;
  policy.tenants = {{"a", {}, "", {}, 1}, {"b", {}, "", {}, 3}};
  std::vector<SimulatedJob> jobs;
  for (QueueJobId id = 1; id <= 64; ++id) {
    jobs.push_back(simulated_job(id, 1, 1, 0, 1000));
    jobs.back().spec.tenant = id <= 32 ? "a" : "b";
  }
  for (const auto rule : {FairShareRule::none, FairShareRule::running, FairShareRule::decayed}) {
    policy.fair_share = rule;
    SimulatedCluster cluster(small_fabric(8, 4, 4), policy, jobs);
    cluster.run(0);
    EXPECT_EQ(held(cluster)["b"], rule == FairShareRule::none ? 0U : 24U);
  }
}

TEST(FairShare, DoesNotDependOnHowOftenItIsCharged) {
  FairShare once(100 * kSecond);
  FairShare often(100 * kSecond);
  once.charge("t", 8, 0, 300 * kSecond);
  for (int s = 0; s < 300; s += 5) often.charge("t", 8, s * kSecond, (s + 5) * kSecond);
  EXPECT_NEAR(once.usage_gpu_s("t", 300 * kSecond), often.usage_gpu_s("t", 300 * kSecond), 1e-6);
  EXPECT_NEAR(once.usage_gpu_s("t", 400 * kSecond), once.usage_gpu_s("t", 300 * kSecond) / 2, 1e-6);
  FairShare forever(100 * kSecond);
  forever.charge("t", 8, 0, 100'000 * kSecond);
  EXPECT_NEAR(forever.average_gpus("t", 100'000 * kSecond), 8, 1e-9);
  EXPECT_EQ(once.usage_gpu_s("unknown", 0), 0);
}

TEST(QueuePolicyCheck, NamesWhatIsWrong) {
  QueuePolicy policy;
  EXPECT_TRUE(check_queue_policy(policy));
  policy.tenants = {{"a", 4, "", {}, 1}, {"a", 4, "", {}, 1}};
  EXPECT_EQ(check_queue_policy(policy).error().location, "/tenants/1/name");
  policy.tenants = {{"a", {}, "c", {}, 1}};
  EXPECT_EQ(check_queue_policy(policy).error().location, "/tenants/0/nominalGpus");
  policy.tenants = {{"a", 4, "c", {}, 0}};
  EXPECT_EQ(check_queue_policy(policy).error().location, "/tenants/0/weight");
  policy.tenants.clear();
  policy.windows = {{QueueWindow::Kind::reservation, "w", 5, 5, "a", {}}};
  EXPECT_EQ(check_queue_policy(policy).error().code, "queue.invalidPolicy");
}

}  // namespace
}  // namespace railweave::scheduler::quota_test
