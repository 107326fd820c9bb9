// A subnet in direct mode whose routes need several lanes.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "fabric/generate/generate.h"
#include "gtest/gtest.h"
#include "tests/unit/live/lane_walk_fixture.h"

namespace railweave::control {
namespace several_lanes_test {

class SeveralLanesTest : public LaneWalkTest {
 protected:
  void start_shape(const std::string& kind, const std::map<std::string, std::string>& parameters) {
    auto made = fabric::generate(kind, {parameters.begin(), parameters.end()});
    ASSERT_TRUE(made) << made.error().text();
    start_on(std::make_shared<const fabric::Topology>(std::move(*made)));
  }
  void start_torus() { start_shape("torus", {{"x", "4"}, {"y", "4"}, {"z", "1"}}); }
  // On one lane, which no sender is told of.
  void start_with_job_from_before() {
    several_lanes_ = false;
    start_torus();
    settle();
    must(PutTenant{{.name = "research"}, {}});
    must(submit_job("research", 1, 4));
  }
  void start_dragonfly() { start_shape("dragonfly", {{"switches-per-group", "3"}, {"global-links", "1"}}); }

  void expect_several(const char* when) {
    EXPECT_EQ(status()->phase, SubnetPhase::synced) << when << ": " << status()->problem;
    ASSERT_TRUE(status()->lanes) << when;
    EXPECT_EQ(status()->lanes->used, 2U) << when << ": " << status()->lanes->problem;
    EXPECT_EQ(alarms("routes.onOneLane"), 0U) << when;
    const Lanes walked = lanes();
    EXPECT_EQ(walked.lost, 0U) << when;
    EXPECT_GT(walked.delivered, 0U) << when;
    EXPECT_EQ(walked.used, (std::set<unsigned>{0, 1})) << when;
    EXPECT_FALSE(walked.has_circle) << when;
  }
  void expect_one(const char* why) {
    EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
    ASSERT_TRUE(status()->lanes);
    EXPECT_EQ(status()->lanes->used, 1U);
    EXPECT_EQ(status()->lanes->needed, 2U);
    EXPECT_NE(status()->lanes->problem.find(why), std::string::npos) << status()->lanes->problem;
    EXPECT_EQ(alarms("routes.onOneLane"), 1U);
    EXPECT_EQ(alarms("routes.needLanes"), 0U);
    const auto report = walk();  // on one lane
    EXPECT_TRUE(report.verified());
    EXPECT_EQ(report.unreachable_pairs, 0U);
  }
};

TEST_F(SeveralLanesTest, ATorusIsBroughtUpOnTwo) {
  start_torus();
  settle();
  expect_several("brought up");
  EXPECT_TRUE(lanes(false).has_circle) << "with level 0 throughout this could deadlock, which the walk finds";
  cut(uplink(0));
  step(1);
  settle();
  expect_several("after a cut");
  join(uplink(0));
  step(1);
  settle();
  expect_several("joined again");
}

TEST_F(SeveralLanesTest, LanesOfADragonflyDependOnThePortThatAPacketCameBy) {
  start_dragonfly();
  settle();
  expect_several("brought up");
  cut(uplink(0));
  step(1);
  settle();
  EXPECT_EQ(lanes().lost, 0U);
  EXPECT_FALSE(lanes().has_circle);
}

TEST_F(SeveralLanesTest, ASwitchThatComesBackWithoutItsMapsHasThemBeforePacketsPass) {
  start_torus();
  settle();
  const auto cable = uplink(0);
  cut(cable);
  step(1);
  settle();
  switches_->lose_port_tables(cable.sw);
  bool was_early = false;
  written_ = [&] { was_early = was_early || lanes().has_circle; };
  join(cable);
  step(1);
  settle();
  written_ = nullptr;
  EXPECT_FALSE(was_early);
  expect_several("joined again");
}

TEST_F(SeveralLanesTest, WhereSendersAreGivenNoLevelsRoutesGoUpAndDown) {
  several_lanes_ = false;
  start_torus();
  settle();
  expect_one("several_lanes is false");
  for (int i = 0; i < 10; ++i) step(4'000);
  const SubnetTables* tables = loop_->state()->tables(subnet_);
  ASSERT_NE(tables, nullptr);
  EXPECT_EQ(tables->source, TablesSource::seen) << "the service computes others, on two lanes";
  cut(uplink(0));
  step(1);
  settle();
  expect_one("several_lanes is false");
}

TEST_F(SeveralLanesTest, WherePortsHaveTooFewLanesRoutesGoUpAndDownUntilTheyHaveThem) {
  start_torus();
  switches_->set_data_lanes(1);
  settle();
  expect_one("the ports have 1");
  switches_->set_data_lanes(8);
  settle_for(20);
  expect_several("once ports have lanes");
}

// Who began before levels were told sends on level 0, which could close a circle of waits on two lanes.
TEST_F(SeveralLanesTest, JobsFromBeforeEndOnOneLane) {
  start_with_job_from_before();
  ASSERT_EQ(placed().size(), 1U);
  several_lanes_ = true;
  make_controller();
  bool was_circle = false;
  written_ = [&] { was_circle = was_circle || lanes(false).has_circle || lanes().has_circle; };
  settle_for(30);
  expect_one("1 job started before senders were told");
  EXPECT_EQ(loop_->state()->tables(subnet_)->levels, "torus-3d on 2 lanes");
  EXPECT_EQ(lanes().used, (std::set<unsigned>{0, 1}))
      << "levels are told and ports map them, on the tables from before";
  cut(uplink(0));
  step(1);
  settle();
  expect_one("1 job started before senders were told");
  // One that begins now was told.
  const JobId before = placed().front();
  must(submit_job("research", 1, 3));
  settle_for(3);
  expect_one("1 job started before senders were told");
  EXPECT_FALSE(was_circle);
  written_ = [&] { was_circle = was_circle || lanes().has_circle; };
  must(EndJob{before, JobState::completed, "", {}});
  settle_for(5);
  expect_several("once it has ended");
  EXPECT_FALSE(was_circle);
  ASSERT_TRUE(status()->lanes->old_levels);
  EXPECT_EQ(status()->lanes->old_levels->outcome, fabric::OldLevels::Outcome::kept);
}

TEST_F(SeveralLanesTest, ARestartWaitsForJobsFromBeforeToo) {
  start_with_job_from_before();
  several_lanes_ = true;
  make_controller();
  bool was_circle = false;
  written_ = [&] { was_circle = was_circle || lanes(false).has_circle || lanes().has_circle; };
  settle_for(30);
  expect_one("1 job started before senders were told");
  for (int i = 0; i < 3; ++i) {
    controller_.reset();
    restart();
    make_controller();
    settle_for(i == 0 ? 1 : 30);
    EXPECT_EQ(loop_->state()->tables(subnet_)->levels, "torus-3d on 2 lanes") << "senders are told them all the time";
  }
  expect_one("1 job started before senders were told");
  EXPECT_FALSE(was_circle);
  written_ = nullptr;
  must(EndJob{placed().front(), JobState::completed, "", {}});
  settle_for(5);
  expect_several("once it has ended");
}

TEST_F(SeveralLanesTest, ARestartKnowsWhatSendersWereTold) {
  start_torus();
  settle();
  expect_several("brought up");
  must(PutTenant{{.name = "research"}, {}});  // at once, but once tables are there that need levels
  must(submit_job("research", 1, 4));
  settle_for(3);
  controller_.reset();
  cut(uplink(0), false);
  make_controller();
  settle_for(2);
  expect_several("after a restart that finds a cable cut");
  // As if another service had written the tables.
  auto forgotten = *loop_->state()->tables(subnet_);
  forgotten.levels.clear();
  controller_.reset();
  must(ReportTables{{subnet_, forgotten}});
  join(uplink(0), false);
  cut(uplink(1), false);
  make_controller();
  settle_for(2);
  expect_one("senders");
}

TEST_F(SeveralLanesTest, APortThatDoesNotKeepItsMapsIsNamed) {
  start_torus();
  const auto cable = uplink(0);
  switches_->garble(cable.sw, 100);
  settle();
  ASSERT_TRUE(status()->lanes);
  EXPECT_EQ(status()->lanes->used, 1U);
  EXPECT_NE(status()->lanes->problem.find("reads back differently"), std::string::npos) << status()->lanes->problem;
  switches_->garble(cable.sw, 0);
  settle_for(60);
  expect_several("once it keeps them");
}

}  // namespace several_lanes_test
}  // namespace railweave::control
