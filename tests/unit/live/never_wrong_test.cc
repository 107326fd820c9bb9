// What is shown of a subnet is never better than what its switches hold: changes are not forgotten before they are
// programmed, nothing is written that did not pass the audit, and what differs is seen by looking, not by believing.
#include "fabric/generate/generate.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

using fabric::LinkState;

// Three leaves and three spines.
constexpr fabric::testing::FatTreeShape kThreeSpines = {
    .hosts_per_leaf = 4, .leaves_per_pod = 3, .spines_per_pod = 3, .pods = 1, .cores_per_spine = 0, .gpus_per_host = 1};

class NeverWrongTest : public LiveTest {
 protected:
  [[nodiscard]] std::vector<Cable> cables_of(fabric::SwitchId sw) const {
    std::vector<Cable> cables;
    for (const auto port : topology_->ports(sw)) {
      if (topology_->peer(port))
        cables.push_back({topology_->guid(sw), topology_->number(port), topology_->link(port)});
    }
    return cables;
  }
  [[nodiscard]] fabric::SwitchId spine() const { return topology_->switch_of(topology_->b(uplink(0).link)); }
  // Drops what the driver's own books would report as changed, as a driver does that changes its map and then fails.
  void cut_unnoticed(const Cable& cable) {
    cut(cable, false);
    switches_->lose_changes();
  }
  [[nodiscard]] std::string alarm_text(const std::string& kind) const {
    const auto state = loop_->state();
    for (const auto& [id, alarm] : *state->alarms) {
      if (alarm.kind == kind) return alarm.text.whole_text();
    }
    return {};
  }
  [[nodiscard]] AlarmSeverity severity(const std::string& kind) const {
    const auto state = loop_->state();
    for (const auto& [id, alarm] : *state->alarms) {
      if (alarm.kind == kind) return alarm.severity;
    }
    return AlarmSeverity::warning;
  }
  void look_for_minutes() {
    for (int i = 0; i < 20; ++i) {
      step(9'000);
      settle();
    }
  }
  // Another program writes one switch: all of its entries drop.
  void clear_tables(fabric::SwitchId sw) {
    fabric::ForwardingDelta foreign;
    fabric::LftBlock block{.sw = sw, .number = 0};
    block.ports.fill(fabric::kNoPort);
    foreign.blocks.push_back(block);
    ASSERT_TRUE(switches_->program(*topology_, foreign));
  }
};

TEST_F(NeverWrongTest, WhatDiffersIsProgrammedThoughNoChangeIsReported) {
  start_live(kThreeSpines);
  settle();
  const auto cables = cables_of(spine());
  ASSERT_EQ(cables.size(), 3U);
  for (const auto& cable : cables) cut_unnoticed(cable);
  EXPECT_FALSE(walk().verified());
  step(11'000);  // a sweep that says that nothing changed
  settle();
  EXPECT_TRUE(walk().verified());
  EXPECT_EQ(status()->links.down, 3U);
}

TEST_F(NeverWrongTest, AChangeThatADiscoveryForOperatorsFindsIsProgrammed) {
  start_live(kThreeSpines);
  settle();
  cut(uplink(0));
  step(1);  // it reports devices that may have changed: they are discovered when it is quiet
  cut(uplink(4), false);
  settle();
  EXPECT_TRUE(walk().verified());
  EXPECT_EQ(status()->links.down, 2U);
}

TEST_F(NeverWrongTest, ASpineThatIsGoneForGoodLeavesTheRestSynced) {
  start_live(kThreeSpines);
  settle();
  for (const auto& cable : cables_of(spine())) cut(cable);
  settle();
  step(11'000);
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_EQ(status()->blocks_differing, 0U);
  EXPECT_EQ(alarms("switch.isolated"), 1U);
  EXPECT_NE(alarm_text("switch.isolated").find("is gone"), std::string::npos) << alarm_text("switch.isolated");
  ASSERT_EQ(status()->isolated.size(), 1U);
}

TEST_F(NeverWrongTest, WithoutItsOwnPortASubnetIsBlindAndNoSwitchIsGone) {
  start_live({.hosts_per_leaf = 2, .leaves_per_pod = 4, .spines_per_pod = 4, .pods = 4, .cores_per_spine = 2});
  settle();
  ASSERT_EQ(status()->phase, SubnetPhase::synced);
  const auto writes = switches_->writes().size();
  switches_->blind();
  step(11'000);
  for (int i = 0; i < 5; ++i) step(11'000);
  EXPECT_EQ(status()->phase, SubnetPhase::blind);
  EXPECT_EQ(alarms("subnet.blind"), 1U);
  EXPECT_EQ(severity("subnet.blind"), AlarmSeverity::critical);
  EXPECT_EQ(alarms("switch.isolated"), 0U);
  EXPECT_EQ(loop_->state()->alarms->size(), 1U);
  cut(uplink(3));
  step(1);
  EXPECT_EQ(switches_->writes().size(), writes) << "nothing is written blindly";
  switches_->blind(false);
  step(2'000);
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_EQ(alarms("subnet.blind"), 0U);
  EXPECT_TRUE(walk().verified()) << "what was cut meanwhile is programmed";
}

TEST_F(NeverWrongTest, ARackThatIsCutOffIsOneCriticalAlarmWithItsHostsAndJobs) {
  start_live(kThreeSpines);
  must(PutTenant{{.name = "red"}, {}});
  must(submit_job("red", 1, 12));
  settle();
  const auto leaf = topology_->switch_of(topology_->a(uplink(0).link));
  ASSERT_TRUE(topology_->is_leaf(leaf));
  std::vector<std::string> hosts;
  for (const auto port : topology_->ports(leaf)) {
    const auto peer = topology_->peer(port);
    if (!peer) continue;
    if (const auto hca = topology_->hca_of(peer)) hosts.emplace_back(topology_->name(topology_->host(hca)));
    if (topology_->is_switch_port(peer)) cut({topology_->guid(leaf), topology_->number(port), topology_->link(port)});
  }
  ASSERT_EQ(hosts.size(), 4U);
  settle();
  EXPECT_EQ(alarms("hosts.cutOff"), 1U);
  EXPECT_EQ(severity("hosts.cutOff"), AlarmSeverity::critical);
  for (const auto& host : hosts) EXPECT_NE(alarm_text("hosts.cutOff").find(host), std::string::npos) << host;
  EXPECT_NE(alarm_text("hosts.cutOff").find("job-"), std::string::npos) << alarm_text("hosts.cutOff");
  EXPECT_EQ(alarms("link.down"), 0U) << "its links are part of it";
  for (const auto& cable : cables_of(leaf)) join(cable);
  settle();
  EXPECT_EQ(alarms("hosts.cutOff"), 0U);
}

TEST_F(NeverWrongTest, ALidThatAnotherProgramSetIsAnAlarmAndSetBack) {
  start_live(kThreeSpines);
  settle();
  const auto hcas = topology_->hcas();
  const Guid one = topology_->guid(*hcas.begin());
  const Guid other = topology_->guid(fabric::HcaId(1));
  const auto own = switches_->lid(one, 1);
  ASSERT_NE(own, 0);
  switches_->set_lid(one, 1, switches_->lid(other, 1));
  step(11'000);
  EXPECT_EQ(alarms("lid.conflict"), 1U);
  EXPECT_EQ(severity("lid.conflict"), AlarmSeverity::critical);
  EXPECT_NE(alarm_text("lid.conflict").find("same LID"), std::string::npos) << alarm_text("lid.conflict");
  EXPECT_EQ(switches_->lid(one, 1), own);
  step(11'000);
  EXPECT_EQ(alarms("lid.conflict"), 0U);
}

TEST_F(NeverWrongTest, WhatSwitchesLoseIsFoundByLookingAndNamed) {
  start_live(kThreeSpines);
  settle();
  const auto leaf = topology_->switch_of(topology_->a(uplink(0).link));
  // Another program clears a leaf, which then refuses to be written.
  clear_tables(leaf);
  switches_->refuse(topology_->guid(leaf));
  look_for_minutes();
  EXPECT_NE(status()->phase, SubnetPhase::synced);
  EXPECT_EQ(alarms("routes.blackHole"), 1U);
  EXPECT_EQ(severity("routes.blackHole"), AlarmSeverity::critical);
  EXPECT_NE(alarm_text("routes.blackHole").find(std::string(topology_->name(leaf))), std::string::npos)
      << alarm_text("routes.blackHole");
  EXPECT_GT(status()->discovery.walk.lost_pairs, 0U);
  EXPECT_EQ(status()->discovery.walk.lost_pairs, walk().unreachable_pairs);
  switches_->refuse(topology_->guid(leaf), false);
  look_for_minutes();
  EXPECT_EQ(alarms("routes.blackHole"), 0U);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_EQ(status()->discovery.walk.lost_pairs, 0U);
  EXPECT_EQ(status()->discovery.walk.pairs, walk().pairs);
}

TEST_F(NeverWrongTest, WhatWasNotSeenForLongIsNotCalledSynced) {
  start_live(kThreeSpines);
  settle();
  ASSERT_EQ(status()->phase, SubnetPhase::synced);
  // It answers sweeps, but not when it is asked for its tables.
  switches_->hide_tables(topology_->guid(spine()));
  for (int i = 0; i < 30; ++i) step(9'000);
  EXPECT_EQ(status()->phase, SubnetPhase::partial);
  EXPECT_NE(status()->problem.find("1 of 6 switches were not read"), std::string::npos) << status()->problem;
  switches_->hide_tables(topology_->guid(spine()), false);
  for (int i = 0; i < 4; ++i) step(9'000);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
}

}  // namespace
}  // namespace railweave::control
