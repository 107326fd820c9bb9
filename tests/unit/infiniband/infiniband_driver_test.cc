// The driver against a subnet in memory: two leaves, two spines, four adapters.
#include "fabric/drivers/infiniband/infiniband_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mad.h>

#include "fabric/drivers/infiniband/mad/smp.h"
#include "tests/unit/infiniband/memory_subnet.h"

namespace railweave::fabric::infiniband {
namespace {

constexpr int kLeaf1 = 4, kLeaf2 = 5, kSpine1 = 6, kSpine2 = 7;

class InfinibandDriverTest : public testing::Test {
 protected:
  InfinibandDriverTest() {
    auto owned = std::make_unique<MemorySubnet>();
    subnet_ = owned.get();
    port_ = std::move(owned);
    for (unsigned i = 0; i < 4; ++i) subnet_->add_adapter(0x1000U + 16 * i, 1, "node-" + std::to_string(i) + " mlx5_0");
    for (unsigned i = 0; i < 4; ++i)
      subnet_->add_switch(0x2000U + i, 4, (i < 2 ? "leaf-" : "spine-") + std::to_string(i % 2));
    for (int i = 0; i < 4; ++i) subnet_->cable(i, 1, i < 2 ? kLeaf1 : kLeaf2, static_cast<unsigned>(1 + i % 2));
    for (const int leaf : {kLeaf1, kLeaf2}) {
      subnet_->cable(leaf, 3, kSpine1, static_cast<unsigned>(leaf - kLeaf1 + 1));
      subnet_->cable(leaf, 4, kSpine2, static_cast<unsigned>(leaf - kLeaf1 + 1));
    }
  }
  InfinibandDriver& driver(SubnetMode mode = SubnetMode::direct) {
    if (!driver_) {
      driver_ = std::make_unique<InfinibandDriver>(
          std::move(port_), InfinibandOptions{.mode = mode,
                                              .naming = {},
                                              .exchange = {.window = 16, .timeout = Milliseconds(100), .attempts = 3},
                                              .writing = {.packet_life = Milliseconds(500)},
                                              .leads = leads_});
    }
    return *driver_;
  }
  TopologyPtr discover() {
    auto found = driver().discover();
    EXPECT_TRUE(found);
    return found->topology;
  }
  static SwitchId switch_of(const Topology& topology, int n) {
    return topology.find_switch(Guid(0x2000U + static_cast<unsigned>(n - kLeaf1)));
  }
  static LftBlock block(SwitchId sw, std::uint16_t number, std::uint16_t stage, std::uint16_t port) {
    LftBlock out{.sw = sw, .number = number, .stage = stage, .changed = 64};
    out.ports.fill(port);
    return out;
  }
  std::size_t sets(unsigned attribute) const {
    return static_cast<std::size_t>(std::ranges::count_if(subnet_->asked, [&](const auto& asked) {
      return asked.method == IB_MAD_METHOD_SET && asked.attribute == attribute;
    }));
  }
  MemorySubnet* subnet_ = nullptr;
  std::function<bool()> leads_;
  std::unique_ptr<MadPort> port_;
  std::unique_ptr<InfinibandDriver> driver_;
};

TEST_F(InfinibandDriverTest, DiscoversHostsSwitchesAndCables) {
  const TopologyPtr topology = discover();
  EXPECT_EQ(topology->switches().size(), 4U);
  EXPECT_EQ(topology->hosts().size(), 4U);
  EXPECT_EQ(topology->links().size(), 8U);
  EXPECT_TRUE(topology->find_host("node-3").valid());
}

TEST_F(InfinibandDriverTest, DiscoversTheSameThroughLosses) {
  subnet_->lose(0.05, 3);
  EXPECT_EQ(discover()->links().size(), 8U);
}

TEST_F(InfinibandDriverTest, RediscoveryIsTheSameObjectWhereNothingChangedAndCheap) {
  const TopologyPtr before = discover();
  const auto again = driver().discover();
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->changed);
  EXPECT_EQ(again->topology, before);
  EXPECT_LE(again->asked, 2U * 4U + 4U + 4U) << "switches, ports, and every end port for its LID";
}

TEST_F(InfinibandDriverTest, RediscoveryFindsACutCableAndReachesTheRestByAnotherRoute) {
  discover();
  subnet_->cut(kLeaf1, 3);
  const auto cut = driver().discover();
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->changed);
  EXPECT_EQ(cut->topology->links().size(), 7U);
  EXPECT_EQ(cut->topology->switches().size(), 4U);
  EXPECT_THAT(cut->silent, testing::IsEmpty());
  subnet_->cable(kLeaf1, 3, kSpine1, 1);
  EXPECT_EQ(driver().discover()->topology->links().size(), 8U);
}

TEST_F(InfinibandDriverTest, RediscoveryMissesWhatIsGoneAndFindsWhatIsNew) {
  discover();
  subnet_->cut(kSpine2, 1);
  subnet_->cut(kSpine2, 2);
  subnet_->cut(3, 1);
  const auto less = driver().discover();
  ASSERT_TRUE(less);
  EXPECT_EQ(less->topology->switches().size(), 3U);
  EXPECT_EQ(less->topology->hosts().size(), 3U);
  EXPECT_EQ(less->topology->links().size(), 5U);
  subnet_->cable(subnet_->add_adapter(0x9000, 1, "node-9 mlx5_0"), 1, kLeaf2, 2);
  const auto more = driver().discover();
  ASSERT_TRUE(more);
  EXPECT_TRUE(more->topology->find_host("node-9").valid());
  EXPECT_EQ(more->topology->hosts().size(), 4U);
}

TEST_F(InfinibandDriverTest, ASilentSwitchIsNamedByItsNeighbourAndTheRestIsFound) {
  subnet_->node(kSpine1).silent = true;
  const auto found = driver().discover();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->topology->switches().size(), 3U);
  EXPECT_EQ(found->topology->hosts().size(), 4U);
  EXPECT_THAT(found->silent, testing::IsEmpty()) << "leaf-1 answered every question";
  EXPECT_EQ(found->topology->source_findings().size(), 1U);
}

TEST_F(InfinibandDriverTest, ADeltaIsWrittenReadBackAndReported) {
  const TopologyPtr topology = discover();
  ForwardingDelta delta;
  delta.blocks = {block(switch_of(*topology, kSpine1), 0, 0, 2), block(switch_of(*topology, kLeaf1), 0, 1, 3),
                  block(switch_of(*topology, kLeaf2), 5, 0, kNoPort)};
  const auto report = driver().program(*topology, delta);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->complete());
  EXPECT_THAT(report->blocks, testing::Each(WriteOutcome::applied));
  EXPECT_EQ(subnet_->node(kSpine1).lft[63], 2);
  EXPECT_EQ(subnet_->node(kLeaf1).lft[7], 3);
  EXPECT_EQ(subnet_->node(kLeaf2).lft[320], 255);
  EXPECT_EQ(subnet_->node(kSpine1).linear_top, 63U) << "else the entries forward nothing";
  EXPECT_EQ(subnet_->node(kLeaf2).linear_top, 0U) << "nothing to forward there";
  const std::vector<SwitchId> read{switch_of(*topology, kSpine1), switch_of(*topology, kSpine2)};
  const auto tables = driver().read_tables(*topology, read, 70);
  ASSERT_TRUE(tables);
  EXPECT_EQ((*tables)[0].ports[63], 2);
  EXPECT_EQ((*tables)[0].ports[64], kNoPort);
  EXPECT_EQ((*tables)[1].ports[63], kNoPort);
}

// A process that is suspended in the middle of its writes and wakes up beside its successor.
TEST_F(InfinibandDriverTest, OneThatLeadsNoMoreWritesNothingMore) {
  bool leads = true;
  leads_ = [&leads] { return leads; };
  const TopologyPtr topology = discover();
  ForwardingDelta delta;
  for (std::uint16_t number = 0; number < 100; ++number) {
    for (const int n : {kSpine1, kSpine2, kLeaf1, kLeaf2}) {
      delta.blocks.push_back(block(switch_of(*topology, n), number, 0, 2));
    }
  }
  std::size_t until = 50;
  subnet_->before_answer = [&](const MemorySubnet::Asked& asked) {
    if (asked.method == IB_MAD_METHOD_SET && asked.attribute == IB_ATTR_LINEARFORWTBL && until-- == 1) leads = false;
  };
  const auto report = driver().program(*topology, delta);
  const std::size_t written = sets(IB_ATTR_LINEARFORWTBL);
  EXPECT_GE(written, 50U);
  EXPECT_LE(written, 50U + 16U) << "what was on its way already";
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "ib.notLeader");
  const auto again = driver().program(*topology, delta);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, "ib.notLeader");
  EXPECT_EQ(sets(IB_ATTR_LINEARFORWTBL), written);
}

TEST_F(InfinibandDriverTest, AStageIsWrittenWhenTheOneBeforeIsReadBack) {
  const TopologyPtr topology = discover();
  ForwardingDelta delta;
  delta.blocks = {block(switch_of(*topology, kSpine1), 0, 0, 2), block(switch_of(*topology, kSpine2), 0, 0, 2),
                  block(switch_of(*topology, kLeaf1), 0, 1, 3)};
  subnet_->lose(0.1, 11);
  bool leaf_written = false;
  subnet_->before_answer = [&](const MemorySubnet::Asked& asked) {
    if (asked.attribute != IB_ATTR_LINEARFORWTBL || asked.method != IB_MAD_METHOD_SET || asked.node != kLeaf1) return;
    leaf_written = true;
    EXPECT_EQ(subnet_->node(kSpine1).lft[0], 2);
    EXPECT_EQ(subnet_->node(kSpine2).lft[0], 2);
  };
  ASSERT_TRUE(driver().program(*topology, delta));
  EXPECT_TRUE(leaf_written);
}

TEST_F(InfinibandDriverTest, ASilentSwitchIsIsolatedAndDelaysNoOther) {
  const TopologyPtr topology = discover();
  ForwardingDelta delta;
  for (std::uint16_t number = 0; number < 50; ++number) {
    for (const int n : {kSpine1, kSpine2, kLeaf1, kLeaf2}) {
      // Leaves go after the spines in block 0 only.
      const auto stage = static_cast<std::uint16_t>(number == 0 && n <= kLeaf2 ? 1 : 0);
      delta.blocks.push_back(block(switch_of(*topology, n), number, stage, 1));
    }
  }
  subnet_->node(kSpine2).silent = true;
  const TimePoint start = subnet_->now();
  TimePoint last_write{};
  subnet_->before_answer = [&](const MemorySubnet::Asked& asked) {
    if (asked.attribute == IB_ATTR_LINEARFORWTBL) last_write = subnet_->now();
  };
  const auto report = driver().program(*topology, delta);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->isolated.size(), 1U);
  EXPECT_EQ(report->isolated[0].sw, switch_of(*topology, kSpine2));
  EXPECT_EQ(report->isolated[0].reason, "does not answer");
  for (std::size_t i = 0; i < delta.blocks.size(); ++i) {
    const bool silent = delta.blocks[i].sw == switch_of(*topology, kSpine2);
    const bool held = delta.blocks[i].stage == 1;  // after the silent spine
    EXPECT_EQ(report->blocks[i], silent ? WriteOutcome::silent
                                 : held ? WriteOutcome::held
                                        : WriteOutcome::applied)
        << i;
  }
  EXPECT_EQ(subnet_->node(kLeaf1).lft[0], 255) << "held";
  EXPECT_EQ(subnet_->node(kLeaf1).lft[64], 1);
  EXPECT_LT(last_write - start, Milliseconds(100)) << "all others were done before the first timeout";
}

TEST_F(InfinibandDriverTest, ABlockThatReadsBackDifferentlyIsWrittenAgainThenReported) {
  const TopologyPtr topology = discover();
  ForwardingDelta delta;
  delta.blocks = {block(switch_of(*topology, kSpine1), 0, 0, 2)};
  int forgets = 1;
  subnet_->before_answer = [&](const MemorySubnet::Asked& asked) {
    if (asked.attribute == IB_ATTR_LINEARFORWTBL && asked.method == IB_MAD_METHOD_GET && forgets-- > 0) {
      subnet_->node(kSpine1).lft[5] = 9;
    }
  };
  EXPECT_TRUE(driver().program(*topology, delta)->complete());
  EXPECT_EQ(subnet_->node(kSpine1).lft[5], 2);
  forgets = 1000;
  const auto report = driver().program(*topology, delta);
  EXPECT_EQ(report->blocks[0], WriteOutcome::mismatch);
  ASSERT_EQ(report->isolated.size(), 1U);
  EXPECT_EQ(report->isolated[0].reason, "LinearForwardingTable 0 reads back differently");
}

TEST_F(InfinibandDriverTest, ABlockThatAnotherHasWrittenSinceIsLeftAloneAndSoIsTheRest) {
  const TopologyPtr topology = discover();
  ForwardingDelta delta;
  delta.blocks = {block(switch_of(*topology, kSpine1), 0, 0, 2), block(switch_of(*topology, kLeaf1), 0, 1, 3)};
  delta.expected.resize(2);
  for (auto& ports : delta.expected) ports.fill(kNoPort);
  subnet_->node(kSpine1).lft[63] = 7;  // by another program; this one does not route the LID
  auto report = driver().program(*topology, delta);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->yielded);
  EXPECT_THAT(report->blocks, testing::ElementsAre(WriteOutcome::changed, WriteOutcome::held));
  EXPECT_THAT(report->isolated, testing::IsEmpty());
  EXPECT_EQ(subnet_->node(kSpine1).lft[63], 7);
  EXPECT_EQ(subnet_->node(kLeaf1).lft[5], 255);
  delta.expected[0][63] = 7;
  delta.blocks[0].ports[63] = 7;
  EXPECT_TRUE(driver().program(*topology, delta)->complete());
  EXPECT_EQ(subnet_->node(kSpine1).lft[63], 7);
  EXPECT_EQ(subnet_->node(kLeaf1).lft[5], 3);
}

TEST_F(InfinibandDriverTest, NothingMoreIsWrittenOnceAnotherWrites) {
  const TopologyPtr topology = discover();
  ForwardingDelta delta;
  delta.blocks = {block(switch_of(*topology, kSpine1), 0, 0, 2), block(switch_of(*topology, kLeaf1), 0, 1, 3)};
  bool writes = false;
  driver().yield_when([&] { return writes; });
  subnet_->before_answer = [&](const MemorySubnet::Asked& asked) {
    writes = writes || (asked.attribute == IB_ATTR_LINEARFORWTBL && asked.method == IB_MAD_METHOD_SET);
  };
  const auto report = driver().program(*topology, delta);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->yielded);
  EXPECT_THAT(report->blocks, testing::ElementsAre(WriteOutcome::applied, WriteOutcome::held));
  EXPECT_EQ(subnet_->node(kLeaf1).lft[5], 255);
  driver().yield_when({});
}

TEST_F(InfinibandDriverTest, WhatDropsFirstWaitsForPacketsInFlight) {
  const TopologyPtr topology = discover();
  ForwardingDelta delta;
  delta.drops_first = true;
  delta.waits = {1};
  const SwitchId sw = switch_of(*topology, kSpine1);
  delta.blocks = {block(sw, 0, 0, kNoPort), block(sw, 0, 1, 2)};
  std::vector<TimePoint> written;
  subnet_->before_answer = [&](const MemorySubnet::Asked& asked) {
    if (asked.attribute == IB_ATTR_LINEARFORWTBL && asked.method == IB_MAD_METHOD_SET)
      written.push_back(subnet_->now());
  };
  EXPECT_TRUE(driver().program(*topology, delta)->complete());
  ASSERT_EQ(written.size(), 2U);
  EXPECT_GE(written[1] - written[0], Milliseconds(500));
}

// A repair does not wait until packets have left, where what is written next can regard them.
TEST_F(InfinibandDriverTest, WaitingForPacketsEndsForALinkThatFails) {
  const TopologyPtr topology = discover();
  ASSERT_TRUE(driver().bring_up(std::vector<LidAssignment>{{Guid(0x2002), 0, 7, 0}}, 10, {}));
  ForwardingDelta delta;
  delta.waits = {1};
  const SwitchId sw = switch_of(*topology, kSpine1);
  delta.blocks = {block(sw, 0, 0, 1), block(sw, 0, 1, 2)};
  Mad trap = lid_routed_smp(MadMethod::trap, Attribute::notice, 0);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_IS_GENERIC_F, 1);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_TRAP_NUMBER_F, 128);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_DATA_LID_F, 7);
  for (const bool may_stop : {true, false}) {
    delta.may_stop = may_stop;
    subnet_->push_unasked({trap, 7, false});
    const TimePoint began = subnet_->now();
    const auto report = driver().program(*topology, delta);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->interrupted, may_stop);
    EXPECT_EQ(report->blocks[1], may_stop ? WriteOutcome::held : WriteOutcome::applied);
    EXPECT_EQ(subnet_->node(kSpine1).lft[5], may_stop ? 1 : 2);
    EXPECT_EQ(subnet_->now() - began < Milliseconds(400), may_stop);
    EXPECT_EQ(driver().observe(Milliseconds(5))->size(), 1U) << "the failure is told all the same";
  }
}

TEST_F(InfinibandDriverTest, BringsUpLidsAndLinksAndWritesNothingTwice) {
  discover();
  std::vector<LidAssignment> lids;
  for (unsigned i = 0; i < 4; ++i) lids.push_back({Guid(0x1000U + 16 * i), 1, static_cast<Lid>(10 + i), 0});
  for (unsigned i = 0; i < 4; ++i) lids.push_back({Guid(0x2000U + i), 0, static_cast<Lid>(1 + i), 0});
  const auto report = driver().bring_up(lids, 10, {});
  ASSERT_TRUE(report);
  EXPECT_THAT(report->failed, testing::IsEmpty());
  EXPECT_EQ(report->lids_set, 8U);
  EXPECT_EQ(report->ports_activated, 16U);
  EXPECT_EQ(subnet_->node(3).ports[1].lid, 13U);
  EXPECT_EQ(subnet_->node(3).ports[1].state, 4U);
  EXPECT_EQ(subnet_->node(kSpine2).ports[0].lid, 4U);
  EXPECT_EQ(subnet_->node(kSpine2).ports[1].state, 4U);
  const std::size_t before = sets(IB_ATTR_PORT_INFO);
  EXPECT_EQ(driver().bring_up(lids, 10, {})->lids_set, 0U);
  EXPECT_EQ(sets(IB_ATTR_PORT_INFO), before);
}

TEST_F(InfinibandDriverTest, UnusedPortsAndTheOtherEndsOfTheirCablesPassNoPackets) {
  discover();
  const auto& port = subnet_->node(kSpine2).ports[1];
  const auto& other = subnet_->node(port.peer).ports[port.peer_port];
  const std::vector<PortRef> unused{{Guid(subnet_->node(kSpine2).guid), 1}};
  EXPECT_EQ(driver().bring_up({}, 10, unused)->ports_activated, 14U);
  EXPECT_EQ(port.state, 2U);
  EXPECT_EQ(other.state, 2U);
  EXPECT_EQ(driver().bring_up({}, 10, {})->ports_activated, 2U);
  EXPECT_EQ(port.state, 4U);
}

TEST_F(InfinibandDriverTest, CablesThatWereExchangedBetweenTwoLooksAreFoundAsTheyAre) {
  discover();
  ASSERT_TRUE(driver().bring_up({}, 10, {}));
  subnet_->cut(kLeaf1, 3);
  subnet_->cut(kLeaf1, 4);
  subnet_->cable(kLeaf1, 3, kSpine2, 1);
  subnet_->cable(kLeaf1, 4, kSpine1, 1);
  const auto rechecked = driver().recheck(std::vector{Guid(0x2000)}, {});
  ASSERT_TRUE(rechecked);
  EXPECT_FALSE(*rechecked) << "ports that trained again were taken for the same cables";
  ASSERT_TRUE(driver().sweep());
  EXPECT_EQ(driver().read_link(Guid(0x2000), 3).peer, Guid(subnet_->node(kSpine2).guid));
}

TEST_F(InfinibandDriverTest, AnObserverWritesNothing) {
  driver(SubnetMode::observe);
  const TopologyPtr topology = discover();
  ForwardingDelta delta;
  delta.blocks = {block(switch_of(*topology, kSpine1), 0, 0, 2)};
  const auto report = driver().program(*topology, delta);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "ib.observeOnly");
  subnet_->cut(kLeaf1, 3);
  EXPECT_EQ(driver().discover()->topology->links().size(), 7U);
  EXPECT_TRUE(
      std::ranges::none_of(subnet_->asked, [](const auto& asked) { return asked.method == IB_MAD_METHOD_SET; }));
}

TEST_F(InfinibandDriverTest, ATrapNamesItsSwitch) {
  discover();
  const std::vector<LidAssignment> lids{{Guid(0x2002), 0, 7, 0}};
  ASSERT_TRUE(driver().bring_up(lids, 10, {}));
  Mad trap = lid_routed_smp(MadMethod::trap, Attribute::notice, 0);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_IS_GENERIC_F, 1);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_TRAP_NUMBER_F, 128);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_DATA_LID_F, 7);
  subnet_->push_unasked({trap, 7, false});
  const auto observed = driver().observe(Milliseconds(50));
  ASSERT_TRUE(observed);
  ASSERT_EQ(observed->size(), 1U);
  EXPECT_EQ((*observed)[0].device, Guid(0x2002));
  EXPECT_EQ(driver().observe(Milliseconds(5))->size(), 0U);
}

}  // namespace
}  // namespace railweave::fabric::infiniband
