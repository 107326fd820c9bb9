// Routes that are spread again over the links that failures left, once a subnet in direct mode is quiet.
#include <algorithm>

#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

constexpr fabric::testing::FatTreeShape kTwoTiers = {
    .hosts_per_leaf = 18, .leaves_per_pod = 18, .spines_per_pod = 9, .pods = 1, .cores_per_spine = 0, .leaf_cables = 2};
constexpr std::size_t kMaxBlocks = 64;  // of a step

class BalanceTest : public LiveTest {
 protected:
  void start_cut(std::size_t cuts) {
    rebalance_ = true;
    start_live(kTwoTiers);
    settle();
    whole_ = fullest();
    for (std::size_t i = 0; i < cuts; ++i) cut(uplink(i * 3));
    step(1);
    settle();
    EXPECT_EQ(status()->phase, SubnetPhase::synced);
  }
  // Steps until routes were spread again, each of them small and valid.
  void spread() {
    step(11'000);
    for (int i = 0; i < 100 && !loop_->state()->route_bases->contains("plane-0"); ++i) step(400);
    ASSERT_TRUE(loop_->state()->route_bases->contains("plane-0"));
    for (int i = 0; i < 200; ++i) {
      const std::size_t before = switches_->writes().size();
      step(300);
      EXPECT_LE(switches_->writes().size() - before, kMaxBlocks);
      EXPECT_TRUE(walk().verified());
      if (status()->phase == SubnetPhase::synced) return;
    }
    ADD_FAILURE() << "never done: " << status()->problem;
  }
  [[nodiscard]] std::uint64_t fullest() { return walk().max_link_load_hosts; }

  std::uint64_t whole_ = 0;  // fullest() with all cables
};

TEST_F(BalanceTest, TheFullestLinkIsAsFullAsOfAFreshFabricAndARestartKeepsIt) {
  start_cut(8);
  const std::uint64_t repaired = fullest();
  spread();
  const std::uint64_t now = fullest();
  EXPECT_LT(now * 20, repaired * 19);
  const auto routes = routes_.wanted(*loop_->state());
  ASSERT_TRUE(routes);
  EXPECT_EQ((*routes)->routing.tables.digest(), *status()->applied_digest) << "what all of the service goes by";
  RoutingCache of_another_process;
  const auto again = of_another_process.wanted(*loop_->state());
  ASSERT_TRUE(again);
  EXPECT_TRUE((*again)->routing.tables == (*routes)->routing.tables);
  // After a restart nothing is written.
  const std::size_t writes = switches_->writes().size();
  make_controller();
  settle();
  step(11'000);
  settle();
  EXPECT_EQ(switches_->writes().size(), writes);
  EXPECT_EQ(fullest(), now);
  EXPECT_EQ(status()->phase, SubnetPhase::synced);
}

TEST_F(BalanceTest, AFailureMeanwhileIsRepairedAtOnce) {
  start_cut(8);
  step(11'000);
  for (int i = 0; i < 100 && !loop_->state()->route_bases->contains("plane-0"); ++i) step(400);
  step(300);
  EXPECT_NE(status()->phase, SubnetPhase::synced);
  cut(uplink(40));
  step(1);
  EXPECT_TRUE(walk().verified());
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced);
}

TEST_F(BalanceTest, CablesThatAreBackAreUsedAgain) {
  start_cut(4);
  spread();
  for (std::size_t i = 0; i < 4; ++i) join(uplink(i * 3));
  step(1);
  settle();
  const std::uint64_t before = fullest();
  step(11'000);
  for (int i = 0; i < 100 && loop_->state()->route_bases->contains("plane-0"); ++i) step(400);
  EXPECT_TRUE(loop_->state()->route_bases->empty()) << "as cabled";
  for (int i = 0; i < 100 && (i < 3 || status()->phase != SubnetPhase::synced); ++i) step(300);
  EXPECT_LE(fullest(), before);
  EXPECT_EQ(fullest(), whole_) << "as it was before any cable was out";
  EXPECT_TRUE(walk().verified());
}

TEST_F(BalanceTest, AnotherModeGoesBackToRoutesOfTheCabling) {
  start_cut(8);
  spread();
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  EXPECT_TRUE(loop_->state()->route_bases->empty());
}

}  // namespace
}  // namespace railweave::control
