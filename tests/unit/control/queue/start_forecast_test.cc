// Expected starts against what happens: the clock of a control loop goes on, every job ends when it said it would, and each
// waiting job starts when the forecast said, on GPUs that the jobs named in it had before.
#include "services/control/decide/start_forecast.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/unit/control/control_fixture.h"

namespace railweave::control::start_forecast_test {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;

class StartForecastTest : public ControlTest {
 protected:
  void start_with_hosts(unsigned hosts) {
    start();
    must(accept(star_of_hosts(hosts, 8)));
    for (const char* tenant : {"research", "guests"}) must(PutTenant{{.name = tenant, .max_priority = "high"}, {}});
  }
  static SubmitJob command(const std::string& tenant, std::uint32_t gpus, std::optional<std::int64_t> duration_s,
                           const std::string& priority = "normal") {
    SubmitJob command = submit_job(tenant, 1, gpus);
    command.spec.priority = priority;
    command.spec.expected_duration_s = duration_s;
    command.queue = true;
    return command;
  }
  JobId submit(const SubmitJob& command) {
    const auto result = ask(command);
    EXPECT_TRUE(result) << result.error().error.text();
    return result ? result->job : JobId();
  }
  StartForecasts forecasts() { return forecast_.of(*loop_->state(), clock_us_, placers_); }
  [[nodiscard]] std::vector<JobPtr> in(JobState wanted) const {
    std::vector<JobPtr> jobs;
    loop_->state()->jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (job->state == wanted) jobs.push_back(job);
      return true;
    });
    return jobs;
  }
  [[nodiscard]] std::int64_t end_of(const Job& job) const {
    return job.started_us + job.spec.expected_duration_s.value_or(24 * 3600) * kSecond_us;
  }

  // A cycle that started jobs is followed by another, after the answer: it is not to find the clock of the next event.
  void let_cycles_end() {
    for (std::uint64_t before = UINT64_MAX; before != loop_->queue()->cycles;) {
      before = loop_->queue()->cycles;
      must(ReportAlarms{{}, {}});
    }
  }

  // What happens from now on: when each waiting job starts first, and whose GPUs it gets.
  struct Started {
    std::int64_t at_us = 0;
    std::set<JobId> after;  // the last holders of its GPUs that ended meanwhile
  };
  std::map<JobId, Started> happens() {
    std::map<JobId, Started> started;
    std::map<fabric::GpuId, JobId> ended_on;
    std::set<JobId> waited;
    for (const auto& job : in(JobState::queued)) waited.insert(job->id);
    for (int step = 0; step < 2'000 && started.size() < waited.size(); ++step) {
      JobPtr next;
      for (const auto& job : in(JobState::placed)) {
        if (next == nullptr || end_of(*job) < end_of(*next)) next = job;
      }
      const std::int64_t wake_us = loop_->queue()->wake_us;
      if (next == nullptr && wake_us == 0) break;
      if (next == nullptr || (wake_us != 0 && wake_us < end_of(*next) && wake_us > clock_us_)) {
        clock_us_ = wake_us;
        must(ReportAlarms{{}, {}});  // the loop reads the clock with every batch
      } else {
        clock_us_ = std::max<std::int64_t>(clock_us_, end_of(*next));
        for (const auto gpu : next->placement.gpu_of_rank) ended_on[gpu] = next->id;
        must(EndJob{next->id, JobState::completed, "", {}});
      }
      let_cycles_end();
      for (const auto& job : in(JobState::placed)) {
        if (!waited.contains(job->id) || started.contains(job->id)) continue;
        Started& first = started[job->id];
        first.at_us = job->started_us;
        for (const auto gpu : job->placement.gpu_of_rank) {
          if (const auto before = ended_on.find(gpu); before != ended_on.end()) first.after.insert(before->second);
        }
      }
    }
    return started;
  }

  StartForecast forecast_;
  PlacerCache placers_;
};

TEST_F(StartForecastTest, IsWhatHappensWhenJobsEndAsTheySaid) {
  start_with_hosts(4);
  std::size_t compared = 0;
  std::size_t behind = 0;  // that start after another waiting job has ended
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    std::mt19937_64 random(seed);
    scheduler::QueuePolicy policy = default_queue_policy();
    policy.backfill = std::array{scheduler::Backfill::none, scheduler::Backfill::easy,
                                 scheduler::Backfill::conservative}[random() % 3];
    policy.fair_share = std::array{scheduler::FairShareRule::none, scheduler::FairShareRule::running,
                                   scheduler::FairShareRule::decayed}[random() % 3];
    must(PutQueueRules{policy, {}});
    for (int i = 0; i < 16; ++i) {
      const char* tenant = random() % 2 == 0 ? "research" : "guests";
      const char* priority = std::array{"low", "normal", "normal", "high"}[random() % 4];
      submit(command(tenant, 1 + random() % 20, 100 + random() % 40'000, priority));
      clock_us_ += static_cast<std::int64_t>(random() % 60) * kSecond_us;
    }
    let_cycles_end();
    std::set<JobId> waiting;
    for (const auto& job : in(JobState::queued)) waiting.insert(job->id);
    const auto expected = forecasts();
    const auto actual = happens();
    ASSERT_EQ(actual.size(), waiting.size()) << "seed " << seed;
    for (const JobId id : waiting) {
      const ExpectedStart& one = expected.by_job.at(id);
      const Started& real = actual.at(id);
      ASSERT_NEAR(static_cast<double>(one.at_us), static_cast<double>(real.at_us), 1e6)
          << "seed " << seed << " " << to_string(id) << " " << one.unknown.whole_text();
      std::set<JobId> after;
      for (const auto& end : one.ends) {
        after.insert(end.job);
        behind += waiting.contains(end.job) ? 1 : 0;
        EXPECT_FALSE(end.assumed);
      }
      EXPECT_EQ(one.earlier_ends, 0U);
      EXPECT_EQ(after, real.after) << "seed " << seed << " " << to_string(id);
      ++compared;
    }
    for (const auto& job : in(JobState::placed)) must(EndJob{job->id, JobState::completed, "", {}});
  }
  EXPECT_GT(compared, 100U);
  EXPECT_GT(behind, 10U);
}

TEST_F(StartForecastTest, OfACandidateItIsWhatItsSubmissionWouldGet) {
  start_with_hosts(2);
  submit(command("research", 8, 1'000));
  submit(command("research", 8, 5'000));
  submit(command("research", 16, 700));
  const SubmitJob candidate = command("guests", 8, 400);
  const auto asked = forecast_.of(*loop_->state(), clock_us_, placers_, &candidate.spec);
  ASSERT_EQ(asked.by_job.size(), 1U);
  const auto& expected = asked.by_job.at(StartForecast::candidate(*loop_->state()));
  const JobId id = submit(candidate);
  const auto actual = happens();
  EXPECT_NEAR(static_cast<double>(expected.at_us), static_cast<double>(actual.at(id).at_us), 1e6);
  EXPECT_EQ(expected.ends.size(), 1U);
}

TEST_F(StartForecastTest, SaysWhichEndsAreAssumedAndWhatIsNotKnown) {
  start_with_hosts(1);
  const JobId running = submit(command("research", 8, std::nullopt));
  const JobId waits = submit(command("research", 8, 60));
  const JobId held = submit(command("research", 8, 60));
  must(ChangeJob{.id = held, .hold = true, .reason = "later"});
  const auto answer = forecasts();
  const auto& expected = answer.by_job.at(waits);
  EXPECT_NEAR(static_cast<double>(expected.at_us - clock_us_), 24.0 * 3600 * 1e6, 1e6) << "the policy's duration";
  ASSERT_EQ(expected.ends.size(), 1U);
  EXPECT_EQ(expected.ends[0].job, running);
  EXPECT_TRUE(expected.ends[0].assumed);
  EXPECT_EQ(expected.assumed_ends, 1U);
  EXPECT_EQ(answer.by_job.at(held).at_us, 0);
  EXPECT_EQ(answer.by_job.at(held).unknown.whole_text(), "held by tester: later");
  // One that runs over is assumed to go on for a while.
  must(EndJob{running, JobState::completed, "", {}});
  const JobId behind = submit(command("research", 8, 60));
  clock_us_ += 3600 * kSecond_us;
  const auto over = forecasts();
  EXPECT_TRUE(over.by_job.at(behind).ends.at(0).assumed);
  EXPECT_GT(over.by_job.at(behind).at_us, clock_us_);
  EXPECT_GT(over.valid_until_us, clock_us_);
}

TEST_F(StartForecastTest, QuotasAndReservationsCount) {
  start_with_hosts(2);
  must(PutTenant{{.name = "research", .max_gpus = 8, .max_priority = "high"}, {}});
  const JobId first = submit(command("research", 8, 500));
  const JobId second = submit(command("research", 8, 500));
  const auto quota = forecasts();
  ASSERT_EQ(quota.by_job.at(second).ends.size(), 1U);
  EXPECT_EQ(quota.by_job.at(second).ends[0].job, first);
  const auto actual = happens();
  EXPECT_NEAR(static_cast<double>(quota.by_job.at(second).at_us), static_cast<double>(actual.at(second).at_us), 1e6);
  must(EndJob{second, JobState::completed, "", {}});
  PutReservation window{.name = "upkeep", .kind = scheduler::QueueWindow::Kind::maintenance};
  window.from_us = clock_us_ + 100 * kSecond_us;
  window.to_us = clock_us_ + 4'000 * kSecond_us;
  window.nodes = {"node-0", "node-1"};
  must(window);
  const JobId late = submit(command("guests", 8, 500));
  const auto around = forecasts();
  EXPECT_NEAR(static_cast<double>(around.by_job.at(late).at_us), static_cast<double>(window.to_us), 1e6);
}

}  // namespace
}  // namespace railweave::control::start_forecast_test
