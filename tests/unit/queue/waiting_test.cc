// How long a job may wait, what it waits for, and which reason is given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/queue/reservation.h"
#include "tests/support/seeds.h"
#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::waiting_test {
namespace {

using namespace testing_support;
using Random = std::mt19937_64;
using ::testing::HasSubstr;

const WaitReason* reason_of(const CycleResult& result, QueueJobId id) {
  for (const auto& waiting : result.waiting) {
    if (waiting.job == id) return &waiting.reason;
  }
  return nullptr;
}

// A large job of low priority under an endless stream of small ones of high priority: once it starves, it starts as
// soon as what runs then has ended.
TEST(Starvation, IsBounded) {
  for (const Backfill backfill : {Backfill::none, Backfill::easy, Backfill::conservative}) {
    for (std::uint64_t seed = 1; seed <= part_of_seeds(5); ++seed) {
      Random random(seed);
      QueuePolicy policy;
      policy.backfill = backfill;
      policy.classes = {{"low", -1, false, false}, {"high", 1, false, false}};
      policy.starvation_bound_us = 500 * kSecond;
      constexpr std::int64_t kLongest = 100;
      std::vector<SimulatedJob> jobs{simulated_job(1, 4, 7, 10, 50)};
      jobs[0].spec.priority = "low";
      std::int64_t at = 0;
      for (QueueJobId id = 2; id <= 320; ++id) {
        at += static_cast<std::int64_t>(random() % 5);
        jobs.push_back(simulated_job(id, 1, 1 + static_cast<std::uint32_t>(random() % 4), at,
                                     40 + static_cast<std::int64_t>(random() % (kLongest - 39))));
        jobs.back().spec.priority = "high";
      }
      SimulatedCluster cluster(small_fabric(8, 4, 4), policy, jobs);
      cluster.run();
      ASSERT_EQ(cluster.broken, "");
      const std::int64_t started = cluster.job(1).started_us;
      ASSERT_GE(started, 510 * kSecond) << "the stream holds it up, else this tests nothing";
      ASSERT_LE(started, (510 + kLongest) * kSecond) << to_text(backfill) << ", seed " << seed;
    }
  }
}

TEST(Windows, AreKeptFreeOfOthersJobs) {
  for (const Backfill backfill : {Backfill::none, Backfill::easy, Backfill::conservative}) {
    for (std::uint64_t seed = 1; seed <= part_of_seeds(40); ++seed) {
      Random random(seed);
      const auto fabric = small_fabric(6, 4, 3);
      QueuePolicy policy;
      policy.backfill = backfill;
      for (int w = 0; w < 3; ++w) {
        QueueWindow window{w == 0 ? QueueWindow::Kind::reservation : QueueWindow::Kind::maintenance, "w"};
        window.from_us = static_cast<std::int64_t>(100 + random() % 800) * kSecond;
        window.to_us = window.from_us + static_cast<std::int64_t>(50 + random() % 300) * kSecond;
        if (w == 0) window.tenant = "owner";
        const std::size_t first = random() % 20;
        for (std::size_t g = first; g < first + 4; ++g) window.gpus.emplace_back(g);
        policy.windows.push_back(window);
      }
      std::vector<SimulatedJob> jobs;
      std::int64_t at = 0;
      for (QueueJobId id = 1; id <= 60; ++id) {
        at += static_cast<std::int64_t>(random() % 30);
        jobs.push_back(simulated_job(id, 1U << random() % 3, 1 + static_cast<std::uint32_t>(random() % 4), at,
                                     10 + static_cast<std::int64_t>(random() % 200)));
        if (random() % 3 == 0) jobs.back().spec.tenant = "owner";
      }
      SimulatedCluster cluster(fabric, policy, jobs);
      cluster.watch = [&](const CycleResult& result) {
        for (const auto& start : result.starts) {
          const auto& job = cluster.job(start.job);
          for (const auto& window : policy.windows) {
            if (window.tenant == job.spec.tenant) continue;
            if (window.from_us >= cluster.now_us() + job.runs_us || window.to_us <= cluster.now_us()) continue;
            for (const auto gpu : start.placement.gpu_of_rank) {
              ASSERT_EQ(std::ranges::count(window.gpus, gpu), 0) << "seed " << seed << ", job " << start.job;
            }
          }
        }
      };
      cluster.run();
      ASSERT_EQ(cluster.broken, "");
      for (const auto& [id, job] : cluster.jobs()) ASSERT_GE(job.ended_us, 0) << "seed " << seed << ", job " << id;
    }
  }
}

TEST(Reservations, AreMadeWhereNoJobIsExpectedToRun) {
  const auto fabric = small_fabric(6, 4, 3);
  SimulatedCluster cluster(fabric, {}, {simulated_job(1, 4, 2, 0, 100), simulated_job(2, 4, 2, 0, 1000)});
  cluster.run(0);
  std::vector<RunningJob> running;
  for (const auto id : cluster.running()) {
    const auto& job = cluster.job(id);
    running.push_back({id, &job.spec, job.started_us, 0, job.gpus});
  }
  ReservationRequest request{"r", simulated_job(9, 4, 3, 0, 1).spec, 200 * kSecond, 300 * kSecond};
  request.shape.job.required = fabric::LevelKind::rack;
  QueuePolicy policy;
  Placer placer(fabric);
  const auto plan = [&] {
    placer.sync(cluster.allocations());
    return plan_reservation(placer, policy, running, request, cluster.now_us());
  };
  const auto window = plan();  // in the rack of the job that ends at 100 s
  ASSERT_TRUE(window) << window.error().text();
  EXPECT_EQ(window->gpus.size(), 12U);
  ASSERT_FALSE(window->gpus.empty());
  for (const auto gpu : window->gpus) EXPECT_EQ(std::ranges::count(cluster.job(2).gpus, gpu), 0);
  policy.windows.push_back(*window);
  EXPECT_TRUE(check_queue_policy(policy));
  EXPECT_EQ(plan().error().code, "queue.noRoomForReservation");  // once is enough
  request.from_us = 300 * kSecond;
  request.to_us = 400 * kSecond;
  EXPECT_TRUE(plan());
  request.to_us = request.from_us;
  EXPECT_EQ(plan().error().code, "queue.invalidReservation");
}

TEST(Reasons, NameWhatAJobWaitsFor) {
  QueuePolicy policy;
  policy.classes = {{"high", 5, false, false}};
  policy.tenants = {{"small", 2, "", {}, 1}};
  policy.backfill = Backfill::easy;
  std::vector<SimulatedJob> jobs{simulated_job(1, 4, 5, 0, 500),  simulated_job(2, 4, 3, 1, 100),
                                 simulated_job(3, 4, 1, 2, 1000), simulated_job(4, 1, 4, 3, 5),
                                 simulated_job(5, 4, 7, 4, 5),    simulated_job(6, 4, 3, 5, 5)};
  jobs[1].spec.priority = "high";
  jobs[3].spec.tenant = "small";
  SimulatedCluster cluster(small_fabric(6, 4, 3), policy, jobs);
  cluster.explain = true;
  cluster.run(5 * kSecond);
  const CycleResult result = cluster.cycle();
  ASSERT_NE(reason_of(result, 2), nullptr);
  EXPECT_THAT(said(*reason_of(result, 2)).whole_text(), HasSubstr("(0 GPUs free"));
  EXPECT_EQ(reason_of(result, 2)->at_us, 500 * kSecond);
  EXPECT_EQ(reason_of(result, 2)->job, 1U);
  // Three of the five hosts that come free are left for the first: the long one may pass.
  EXPECT_EQ(reason_of(result, 3), nullptr);
  EXPECT_GE(cluster.job(3).started_us, 0);
  EXPECT_EQ(said(*reason_of(result, 4)).whole_text(), "quota of tenant small: holds 0 of 2 GPUs, the job needs 4");
  EXPECT_EQ(said(*reason_of(result, 6)).whole_text(), "behind job-000002 of higher priority");
  EXPECT_EQ(reason_of(result, 5)->code, WaitCode::behind);
}

TEST(Reasons, AJobThatNeverFitsDelaysNoOther) {
  for (const Backfill backfill : {Backfill::none, Backfill::easy, Backfill::conservative}) {
    QueuePolicy policy;
    policy.backfill = backfill;
    SimulatedCluster cluster(small_fabric(6, 4, 3), policy,
                             {simulated_job(1, 4, 7, 0, 5), simulated_job(2, 4, 6, 1, 5)});
    cluster.explain = true;
    cluster.run();
    EXPECT_EQ(cluster.job(2).started_us, kSecond);
    const CycleResult result = cluster.cycle();
    ASSERT_EQ(result.waiting.size(), 1U);
    EXPECT_EQ(result.waiting[0].reason.code, WaitCode::never_fits);
  }
}

TEST(Reasons, JobsAndTimesReadAsElsewhere) {
  EXPECT_EQ(said({.code = WaitCode::not_before, .at_us = 1'795'251'600'000'000}).whole_text(),
            "starts no earlier than 2026-11-21T09:00:00Z");
  EXPECT_EQ(job_name(123), "job-000123");
}

TEST(Cycle, GivesTheSameAnswerTwice) {
  Random random(3);
  std::vector<SimulatedJob> jobs;
  for (QueueJobId id = 1; id <= 200; ++id) {
    jobs.push_back(simulated_job(id, 1U << random() % 3, 1 + static_cast<std::uint32_t>(random() % 3),
                                 static_cast<std::int64_t>(random() % 100),
                                 1 + static_cast<std::int64_t>(random() % 300)));
  }
  SimulatedCluster cluster(small_fabric(8, 4, 4), {}, jobs);
  cluster.run(100 * kSecond);
  QueueCycle fresh(cluster.fabric());
  const CycleResult a = cluster.cycle();
  const CycleResult b = cluster.cycle();
  ASSERT_EQ(a.waiting.size(), b.waiting.size());
  for (std::size_t i = 0; i < a.waiting.size(); ++i) {
    EXPECT_EQ(a.waiting[i].job, b.waiting[i].job);
    EXPECT_TRUE(same_reason(a.waiting[i].reason, b.waiting[i].reason));
  }
}

}  // namespace
}  // namespace railweave::scheduler::waiting_test
