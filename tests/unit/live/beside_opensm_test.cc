// Beside an OpenSM that the test plays: what is written ahead of its sweep, what is left to it, and that nothing of its own is
// overwritten.
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

constexpr fabric::testing::FatTreeShape kShape = {.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3};

class BesideOpensmTest : public LiveTest {
 protected:
  void start_beside() {
    start_live(kShape, SubnetMode::opensm);
    controller_->opensm_connected(Guid(1), true);
    settle();
    opensm_sweeps();
    settle();
    ASSERT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
    ASSERT_TRUE(switches_->writes().empty()) << "OpenSM had written all of it";
  }
  // OpenSM routes around what is cut, by the same engine, and writes all of it.
  void opensm_sweeps() {
    const auto routes = routes_now();
    ASSERT_TRUE(routes);
    auto input = (*routes)->input;
    for (const auto link : topology_->links()) {
      const auto port = topology_->is_switch_port(topology_->a(link)) ? topology_->a(link) : topology_->b(link);
      if (!topology_->switch_of(port)) continue;
      const Guid guid = topology_->guid(topology_->switch_of(port));
      if (!switches_->read_link(guid, topology_->number(port)).up) {
        input.view.set_state(link, fabric::LinkState::down);
      }
    }
    const auto made = (*routes)->choice.engine->reroute((*routes)->routing, input);
    ASSERT_TRUE(made);
    const auto& scope = (*routes)->scope();
    for (const auto sw : topology_->switches()) {
      for (const auto id : scope.destinations()) {
        switches_->set_entry(topology_->guid(sw), scope.lid(id), made->tables.out_port(sw, id));
      }
    }
    controller_->opensm_settled();
  }
};

TEST_F(BesideOpensmTest, WhatACutBrokeIsWrittenAheadAndTheRestIsAwaited) {
  start_beside();
  cut(uplink(0));
  step();
  EXPECT_FALSE(switches_->writes().empty());
  EXPECT_EQ(walk().unreachable_pairs, walk().cut_off_pairs) << "whole again before OpenSM has swept";
  const auto writes = switches_->writes().size();
  for (int i = 0; i < 5; ++i) step(400);
  EXPECT_EQ(switches_->writes().size(), writes) << "once";
  opensm_sweeps();
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_EQ(alarms("sync.mismatch"), 0U);
  EXPECT_EQ(switches_->writes().size(), writes);
}

TEST_F(BesideOpensmTest, NothingIsWrittenWhileOpensmWrites) {
  start_beside();
  controller_->opensm_writes();
  cut(uplink(0));
  for (int i = 0; i < 5; ++i) step(400);
  EXPECT_TRUE(switches_->writes().empty());
  opensm_sweeps();
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_TRUE(switches_->writes().empty());
}

// A block holds LIDs that only OpenSM routes, such as those of switches.
TEST_F(BesideOpensmTest, ABlockThatOpensmHasWrittenSinceIsLeftAlone) {
  start_live(kShape, SubnetMode::opensm);
  controller_->opensm_connected(Guid(1), true);
  const auto& spine = topology_->guid(topology_->switches()[topology_->switches().size() - 1]);
  settle();
  const fabric::Lid foreign = 60;  // in the first block, as every other
  switches_->set_lid(spine, 0, foreign);
  for (const auto sw : topology_->switches()) switches_->set_entry(topology_->guid(sw), foreign, 1);
  opensm_sweeps();
  settle();
  ASSERT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  // OpenSM has just moved the route to the spine, and this side has not read it.
  for (const auto sw : topology_->switches()) switches_->set_entry(topology_->guid(sw), foreign, 2);
  cut(uplink(0));
  for (int i = 0; i < 3; ++i) step(100);
  for (const auto sw : topology_->switches()) {
    EXPECT_EQ(switches_->out_port(topology_->guid(sw), foreign), 2) << "overwritten with what it was before";
  }
  opensm_sweeps();
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  for (const auto sw : topology_->switches()) EXPECT_EQ(switches_->out_port(topology_->guid(sw), foreign), 2);
}

TEST_F(BesideOpensmTest, AnOpensmThatNeverSweepsLeavesTheRestToRailweave) {
  start_beside();
  cut(uplink(0));
  step();
  const auto cable = uplink(4);
  must(RequestDrain{{DrainKind::link, topology_->link_text(cable.link)}, "", false, {}, loop_->state()->view_version});
  for (int i = 0; i < 5; ++i) step(400);
  EXPECT_EQ(status()->phase, SubnetPhase::programming) << "OpenSM is to route around the drained link";
  const auto writes = switches_->writes().size();
  for (int i = 0; i < 8; ++i) step(10'000);
  EXPECT_GT(switches_->writes().size(), writes);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
}

TEST_F(BesideOpensmTest, TablesThatOpensmLeavesOtherwiseAfterAWriteAreAskedForAgain) {
  start_beside();
  EXPECT_EQ(controller_->opensm_ports().rewrite, 0U);
  cut(uplink(0));
  step();
  ASSERT_FALSE(switches_->writes().empty());
  // OpenSM has swept, and does not know that one of its blocks was overwritten.
  opensm_sweeps();
  const auto& scope = (*routes_now())->scope();
  const auto leaf = topology_->guid(topology_->switches()[0]);
  switches_->set_entry(leaf, scope.lid(scope.destinations()[0]), 77);
  for (int i = 0; i < 10; ++i) step(4'000);
  EXPECT_EQ(controller_->opensm_ports().rewrite, 1U);
  EXPECT_EQ(alarms("sync.mismatch"), 1U);
  opensm_sweeps();
  settle();
  EXPECT_EQ(alarms("sync.mismatch"), 0U);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
}

}  // namespace
}  // namespace railweave::control
