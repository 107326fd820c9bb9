// Links that flap on a simulated subnet: what is held, what never is, and what is said of it.
#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

using fabric::LinkState;
using fabric::testing::FatTreeShape;

class DampingTest : public LiveTest {
 protected:
  static constexpr FatTreeShape kShape{
      .hosts_per_leaf = 3, .leaves_per_pod = 4, .spines_per_pod = 4, .pods = 1, .cores_per_spine = 0};

  void flap(const Cable& cable, int times) {
    for (int i = 0; i < times; ++i) {
      cut(cable);
      step(1000);
      join(cable);
      step(1000);
    }
    settle();
  }
  // All cables of a switch, those of its hosts too.
  void restart(fabric::SwitchId sw) {
    const auto all = cables_of(sw);
    for (const Cable& cable : all) cut(cable);
    step(3000);
    for (const Cable& cable : all) join(cable);
    step(3000);
  }
  [[nodiscard]] std::vector<Cable> cables_of(fabric::SwitchId sw) const {
    std::vector<Cable> all;
    for (const auto port : topology_->ports(sw)) {
      if (topology_->link(port)) all.push_back({topology_->guid(sw), topology_->number(port), topology_->link(port)});
    }
    return all;
  }
};

TEST_F(DampingTest, ALinkThatFlapsIsHeldUntilItIsCalmAndThatIsSaid) {
  start_live(kShape);
  settle();
  const auto cable = uplink(1);
  flap(cable, 4);
  EXPECT_EQ(loop_->state()->view.state(cable.link), LinkState::down);
  EXPECT_EQ(status()->links.damped, 1U);
  EXPECT_EQ(status()->links.down, 0U) << "it is up";
  EXPECT_EQ(status()->phase, SubnetPhase::partial) << "held is not synced";
  EXPECT_NE(status()->problem.find("1 link that flaps is held"), std::string::npos) << status()->problem;
  EXPECT_NE(status()->problem.find("pairs of end ports lost by it: 0"), std::string::npos) << status()->problem;
  ASSERT_EQ(status()->sights->flapping.size(), 1U);
  EXPECT_EQ(status()->sights->flapping[0].until_us - status()->sights->flapping[0].since_us, 600'000'000);
  EXPECT_EQ(alarms("link.flapping"), 1U);
  EXPECT_EQ(alarms("link.down"), 0U) << "it is not down";
  EXPECT_TRUE(walk().verified());
  const auto repairs = status()->repairs_total;
  flap(cable, 1);
  EXPECT_EQ(status()->repairs_total, repairs) << "no rerouting for a link that is not used";
  step(11 * 60'000);
  settle();
  EXPECT_EQ(loop_->state()->view.state(cable.link), LinkState::up);
  EXPECT_EQ(alarms("link.flapping"), 0U);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
}

TEST_F(DampingTest, AnOperatorReleasesIt) {
  start_live(kShape);
  settle();
  const auto cable = uplink(1);
  flap(cable, 4);
  ASSERT_EQ(status()->links.damped, 1U);
  controller_->release(topology_->link_text(cable.link));
  settle();
  EXPECT_EQ(loop_->state()->view.state(cable.link), LinkState::up);
  EXPECT_EQ(status()->links.damped, 0U);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  flap(cable, 3);
  EXPECT_EQ(status()->links.damped, 0U) << "a clean record";
  flap(cable, 1);
  EXPECT_EQ(status()->links.damped, 1U);
}

TEST_F(DampingTest, SwitchesThatRestartAgainAndAgainAreUsedAsSoonAsTheirCablesAreUp) {
  start_live(kShape);
  settle();
  for (int round = 0; round < 5; ++round) {
    for (const auto sw : topology_->switches()) {
      restart(sw);
      EXPECT_EQ(status()->links.damped, 0U) << topology_->name(sw) << " in round " << round;
    }
  }
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_EQ(alarms("link.flapping"), 0U);
  EXPECT_GE(alarms("switch.flapping"), 1U) << "a switch that restarts so often is trouble";
  EXPECT_TRUE(walk().verified());
}

TEST_F(DampingTest, TheLastPathIsUsedHoweverOftenItFlaps) {
  start_live(kShape);
  settle();
  const auto all = cables_of(topology_->switches()[0]);
  std::vector<Cable> up;
  for (const Cable& cable : all) {
    if (topology_->joins_switches(cable.link)) up.push_back(cable);
  }
  ASSERT_EQ(up.size(), 4U);
  flap(up[0], 4);
  ASSERT_EQ(status()->links.damped, 1U);
  for (std::size_t i = 1; i < up.size(); ++i) cut(up[i]);
  step(1000);
  settle();
  EXPECT_EQ(loop_->state()->view.state(up[0].link), LinkState::up) << "it is the last now";
  EXPECT_EQ(status()->links.damped, 0U);
  EXPECT_EQ(alarms("hosts.cutOff"), 0U);
  EXPECT_EQ(status()->sights->flapping[0].why_used, fabric::health::WhyUsed::last_path);
  for (std::size_t i = 1; i < up.size(); ++i) join(up[i]);
  step(1000);
  settle();
  EXPECT_EQ(status()->links.damped, 1U) << "and is not any more";
  // The same by drains.
  for (std::size_t i = 1; i < up.size(); ++i) {
    must(RequestDrain{{DrainKind::link, topology_->link_text(up[i].link)}, "", true, {}, loop_->state()->view_version});
    settle();
  }
  EXPECT_EQ(loop_->state()->view.state(up[0].link), LinkState::up) << "all others are drained";
  EXPECT_EQ(status()->links.damped, 0U);
}

TEST_F(DampingTest, CablesOfHostsAndWhatOthersRouteAreNeverHeld) {
  start_live(kShape);
  settle();
  for (const Cable& cable : cables_of(topology_->switches()[0])) {
    if (!topology_->joins_switches(cable.link)) flap(cable, 6);
  }
  EXPECT_EQ(status()->links.damped, 0U);
  EXPECT_EQ(alarms("link.flapping"), 3U);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  settle();
  flap(uplink(2), 5);
  EXPECT_EQ(status()->links.damped, 0U) << "another subnet manager routes over it";
  EXPECT_EQ(alarms("link.flapping"), 1U) << "what was seen over another connection is forgotten";
}

}  // namespace
}  // namespace railweave::control
