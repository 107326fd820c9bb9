// Drains of a live subnet: over only when switches' tables have nothing left of the link.
#include "services/control/live/subnet_controller.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

TEST_F(LiveTest, ADrainEndsWhenNothingUsesTheLinkAnyMore) {
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  const auto cable = uplink(2);
  const DrainTarget target{DrainKind::link, topology_->link_text(cable.link)};
  must(RequestDrain{target, "replace the cable", false, {}, loop_->state()->view_version});
  EXPECT_EQ(loop_->state()->drains->at(target).state, DrainState::requested);
  settle();
  EXPECT_EQ(loop_->state()->drains->at(target).state, DrainState::drained);
  // By the tables of the switches themselves.
  for (const auto port : {topology_->a(cable.link), topology_->b(cable.link)}) {
    const Guid sw = topology_->guid(topology_->switch_of(port));
    const auto routes = routes_.at(*loop_->state());
    ASSERT_FALSE((*routes)->scope().destinations().empty());
    for (const auto id : (*routes)->scope().destinations()) {
      EXPECT_NE(switches_->out_port(sw, (*routes)->scope().lid(id)), topology_->number(port));
    }
  }
  EXPECT_TRUE(walk().verified());
  must(ClearDrain{target, ""});
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced);
}

// The store may have refused what was reported: the next sweep reports it again, though the state has not changed.
TEST_F(LiveTest, AReportOfADrainThatWasLostIsMadeAgain) {
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  const DrainTarget target{DrainKind::link, topology_->link_text(uplink(2).link)};
  must(RequestDrain{target, "", false, {}, loop_->state()->view_version});
  for (int i = 0; i < 6; ++i) {
    now_us_ += 400'000;
    controller_->step(loop_->state(), std::chrono::milliseconds(0));
    reports_.clear();
  }
  EXPECT_EQ(loop_->state()->drains->at(target).state, DrainState::requested);
  step(11'000);
  EXPECT_EQ(loop_->state()->drains->at(target).state, DrainState::drained);
}

TEST_F(LiveTest, ADrainWaitsForASwitchThatDoesNotAnswer) {
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  const auto cable = uplink(2);
  switches_->silence(cable.sw);
  const DrainTarget target{DrainKind::link, topology_->link_text(cable.link)};
  must(RequestDrain{target, "", false, {}, loop_->state()->view_version});
  settle();
  EXPECT_EQ(loop_->state()->drains->at(target).state, DrainState::rerouting);
  // The service goes and comes back in the middle.
  stop();
  start();
  make_controller();
  settle();
  EXPECT_EQ(loop_->state()->drains->at(target).state, DrainState::rerouting);
  switches_->silence(cable.sw, false);
  step(11'000);
  settle();
  step(11'000);
  settle();
  EXPECT_EQ(loop_->state()->drains->at(target).state, DrainState::drained);
}

}  // namespace
}  // namespace railweave::control
