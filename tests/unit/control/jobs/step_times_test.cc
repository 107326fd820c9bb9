// What jobs report of their steps: sums by period, what is refused, when a job becomes slow; all of it after a restart too.
#include "services/control/state/step_times.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/control/queue_fixture.h"

namespace railweave::control::step_times_test {
namespace {

class StepTimesTest : public QueueTest {
 protected:
  // Of 16 ranks on two hosts, with a model: its steps are predicted.
  JobId training() {
    SubmitJob command = submit_job("research", 8, 2);
    command.spec.model = scheduler::ModelSpec{
        .parameters = 7e9, .layers = 32, .hidden_size = 4096, .sequence_length = 4096, .global_batch = 64};
    const auto result = ask(command);
    EXPECT_TRUE(result) << result.error().error.text();
    return result->job;
  }
  [[nodiscard]] double predicted_s(JobId id) const { return *job(id)->placement.predicted->step_us / 1e6; }
  [[nodiscard]] StepTimesPtr steps(JobId id) const { return loop_->state()->steps.find(id); }
  // `count` steps of `each_s`, after as long as they took and at least 11 s.
  std::string report(JobId id, std::uint64_t count, double each_s, std::string workload = {}) {
    const double seconds = static_cast<double>(count) * each_s;
    clock_us_ += std::max<std::int64_t>(11'000'000, static_cast<std::int64_t>(seconds * 1e6));
    const auto result = ask(ReportSteps{id, count, seconds, std::move(workload), Message("path", {"of a link"})});
    return result ? "" : result.error().error.code;
  }
  std::vector<std::string> kinds() {
    std::vector<std::string> found;
    const auto read = journal_->read({.limit = 1'000, .kinds = {"job.stepsReported", "job.slow", "job.onPace"}});
    EXPECT_TRUE(read);
    for (const auto& record : *read) found.push_back(record.kind);
    return found;
  }
};

TEST_F(StepTimesTest, AreSumsByPeriodThatSurviveARestart) {
  start_with_hosts(2);
  const JobId id = training();
  EXPECT_EQ(report(id, 10, 0.5), "");
  EXPECT_EQ(report(id, 30, 0.7, "llama"), "");
  const StepTimesPtr times = steps(id);
  ASSERT_EQ(times->periods.size(), 1U);
  EXPECT_EQ(times->periods[0].steps, 40U);
  EXPECT_DOUBLE_EQ(times->periods[0].seconds, 26);
  EXPECT_EQ(times->periods[0].control, (StepControl{}));
  EXPECT_EQ(times->workload, "llama");
  EXPECT_EQ(times->reports, 2U);
  const std::uint64_t version = job(id)->version;
  restart();
  EXPECT_EQ(report(id, 20, 0.6), "");
  EXPECT_EQ(steps(id)->periods[0].steps, 60U);
  EXPECT_EQ(steps(id)->workload, "llama") << "as it said last";
  EXPECT_EQ(job(id)->version, version) << "the job itself does not change";
  end(id);
  EXPECT_EQ(report(id, 1, 1), "jobs.notRunning");
  EXPECT_EQ(steps(id)->periods[0].steps, 60U) << "kept beside the job that has ended";
  restart();
}

TEST_F(StepTimesTest, BeginAPeriodWhereControlChangesAndCountTheReportAcrossItInNone) {
  start_with_hosts(2);
  const JobId id = training();
  EXPECT_EQ(report(id, 10, 1), "");
  const std::string subnet(topology_->name(*topology_->subnets().begin()));
  must(SetSubnetMode{subnet, SubnetMode::direct, "", {}});
  EXPECT_EQ(report(id, 20, 0.9), "");
  ASSERT_EQ(steps(id)->periods.size(), 2U);
  EXPECT_EQ(steps(id)->periods[1].steps, 0U) << "some of these ran before";
  EXPECT_TRUE(steps(id)->periods[1].control.routed);
  EXPECT_EQ(report(id, 30, 0.8), "");
  EXPECT_EQ(steps(id)->periods[0].steps, 10U);
  EXPECT_EQ(steps(id)->periods[1].steps, 30U);
  for (int turn = 0; turn < 10; ++turn) {
    must(SetSubnetMode{subnet, turn % 2 == 0 ? SubnetMode::observe : SubnetMode::direct, "", {}});
    EXPECT_EQ(report(id, 10, 1), "");
  }
  EXPECT_EQ(steps(id)->periods.size(), StepTimes::kMaxPeriods);
  EXPECT_EQ(steps(id)->periods[0].steps, 10U) << "the first one stays";
  restart();
}

TEST_F(StepTimesTest, ComeMoreSeldomTheLongerAJobReports) {
  start_with_hosts(2);
  const JobId id = training();
  EXPECT_EQ(report(id, 10, 1), "");
  const auto soon = ask(ReportSteps{id, 1, 1, {}, {}});
  ASSERT_FALSE(soon);
  EXPECT_EQ(soon.error().error.code, "steps.tooSoon");
  clock_us_ += 11'000'000;
  const auto much = ask(ReportSteps{id, 1, 60, {}, {}});
  ASSERT_FALSE(much);
  EXPECT_EQ(much.error().error.code, "steps.moreThanPassed");
  // A month of reports, each as early as it may be.
  std::uint64_t taken = 1;
  const std::int64_t ends_us = clock_us_ + 30LL * 24 * 3600 * 1'000'000;
  while (clock_us_ < ends_us) {
    clock_us_ = steps(id)->next_us();
    must(ReportSteps{id, 1, 1, {}, {}});
    ++taken;
  }
  EXPECT_LT(taken, 1'000U) << "the journal has no more of a job than that";
  EXPECT_GT(taken, 700U);
}

TEST_F(StepTimesTest, TellOnceThatAJobIsSlowAndOnceThatItIsNot) {
  start_with_hosts(2);
  const JobId id = training();
  const double predicted = predicted_s(id);
  ASSERT_GT(predicted, 0);
  EXPECT_EQ(report(id, 20, 3 * predicted), "") << "the first report is not judged: compilers and caches warm up";
  EXPECT_FALSE(steps(id)->slow);
  EXPECT_EQ(report(id, 10, 1.6 * predicted), "");
  EXPECT_FALSE(steps(id)->slow) << "ten steps are too few";
  EXPECT_EQ(report(id, 10, 1.6 * predicted), "");
  EXPECT_TRUE(steps(id)->slow);
  EXPECT_NEAR(*steps(id)->factor, 1.6, 1e-6);
  EXPECT_EQ(steps(id)->on_path.whole_text(), "of a link");
  restart();
  for (int turn = 0; turn < 3; ++turn) EXPECT_EQ(report(id, 20, (turn == 1 ? 1.4 : 2) * predicted), "");
  EXPECT_TRUE(steps(id)->slow) << "1.4 is neither slow nor on pace";
  EXPECT_EQ(report(id, 20, 1.2 * predicted), "");
  EXPECT_FALSE(steps(id)->slow);
  EXPECT_EQ(report(id, 20, 1.4 * predicted), "");
  EXPECT_FALSE(steps(id)->slow);
  const std::string plain = "job.stepsReported";
  EXPECT_EQ(kinds(), (std::vector<std::string>{plain, plain, "job.slow", plain, plain, plain, "job.onPace", plain}));
  restart();
}

}  // namespace
}  // namespace railweave::control::step_times_test
