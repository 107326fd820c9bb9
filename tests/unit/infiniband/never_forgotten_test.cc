// What a driver noticed is told, however the questions after it end: a change is not lost with a datagram.
#include "tests/unit/infiniband/small_subnet.h"

namespace railweave::fabric::infiniband {
namespace {

class NeverForgottenTest : public SmallSubnetTest {
 protected:
  // Nothing that the node is asked for this attribute is answered, until answer_again().
  void lose(int node, unsigned attribute) {
    lost_.emplace_back(node, attribute);
    subnet_->lose_if = [this](const MemorySubnet::Asked& asked) {
      return std::ranges::find(lost_, std::pair(asked.node, asked.attribute)) != lost_.end();
    };
  }
  void answer_again() { subnet_->lose_if = {}; }
  std::vector<std::pair<int, unsigned>> lost_;
};

// The spine loses its cables, the one that leads to the manager's leaf last: the recheck sees the first at the leaf, and
// has no route to the spine any more.
TEST_F(NeverForgottenTest, ARecheckThatFailsHasStillChangedTheMap) {
  driver();
  ASSERT_TRUE(driver().sweep());
  subnet_->cut(kLeaf2, 3);
  subnet_->cut(kLeaf1, 3);
  const auto rechecked = driver().recheck(std::vector{Guid(0x2000), Guid(0x2001), Guid(0x2002)}, {});
  ASSERT_TRUE(rechecked);
  ASSERT_FALSE(*rechecked) << "a switch has no cable left";
  const auto swept = driver().sweep();
  ASSERT_TRUE(swept);
  EXPECT_TRUE(swept->changed);
  EXPECT_FALSE(driver().sweep()->changed) << "told once";
}

TEST_F(NeverForgottenTest, ADiscoveryDoesNotTakeAChangeFromTheNextSweep) {
  driver();
  ASSERT_TRUE(driver().sweep());
  subnet_->cut(kLeaf1, 3);
  ASSERT_TRUE(driver().discover());
  EXPECT_TRUE(driver().sweep()->changed);
}

// Its sign of change is cleared, and then its ports are not answered: the next sweep reads them though nothing reports.
TEST_F(NeverForgottenTest, PortsThatWereNotAnsweredAreReadAgain) {
  driver();
  ASSERT_TRUE(driver().sweep());
  subnet_->cut(kLeaf2, 4);
  lose(kSpine2, IB_ATTR_PORT_INFO);
  lose(kLeaf2, IB_ATTR_PORT_INFO);
  const auto swept = driver().sweep();
  ASSERT_TRUE(swept);
  EXPECT_FALSE(subnet_->node(kSpine2).changed) << "cleared";
  answer_again();
  ASSERT_TRUE(driver().sweep());
  EXPECT_FALSE(driver().read_link(Guid(0x2003), 2).up);
  EXPECT_TRUE(driver().read_link(Guid(0x2003), 2).known);
}

// Answers to what took effect are lost, so that what is believed of a port is older than the port.
TEST_F(NeverForgottenTest, PortsAreActiveASweepAfterTheLastLoss) {
  driver();
  std::vector<LidAssignment> lids;
  for (unsigned i = 0; i < 4; ++i) lids.push_back({Guid(0x2000U + i), 0, static_cast<Lid>(1 + i), 0});
  std::size_t failed = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    ASSERT_TRUE(driver().sweep());
    for (int n = 0; n < 8; ++n) {
      for (auto& port : subnet_->node(n).ports) {
        if (port.state > 2) port.state = 2;  // as when all were switched off and on
      }
      subnet_->node(n).changed = subnet_->node(n).is_switch;
    }
    subnet_->lose(0.45, seed);
    (void)driver().sweep();
    const auto lossy = driver().bring_up(lids, 0, {});
    failed += lossy ? lossy->failed.size() : 0;
    subnet_->lose(0, seed);
    ASSERT_TRUE(driver().sweep());
    const auto whole = driver().bring_up(lids, 0, {});
    ASSERT_TRUE(whole);
    EXPECT_THAT(whole->failed, testing::IsEmpty()) << "seed " << seed;
    for (int n = 0; n < 8; ++n) {
      for (const auto& port : subnet_->node(n).ports) {
        EXPECT_TRUE(port.peer < 0 || port.state == 4)
            << "seed " << seed << ", node " << n << " is in state " << port.state;
      }
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(failed, 20U);
}

TEST_F(NeverForgottenTest, WithoutALinkOfItsOwnItIsBlindAndKeepsWhatItKnew) {
  driver();
  subnet_->cut(0, 1);
  for (int i = 0; i < 2; ++i) {
    const auto swept = driver().sweep();
    ASSERT_TRUE(swept);
    EXPECT_TRUE(swept->blind);
    EXPECT_TRUE(driver().is_present(Guid(0x2003))) << "that nothing is seen says nothing of it";
  }
  subnet_->cable(0, 1, kLeaf1, 1);
  subnet_->cut(kLeaf1, 3);
  const auto swept = driver().sweep();
  ASSERT_TRUE(swept);
  EXPECT_FALSE(swept->blind);
  EXPECT_TRUE(swept->changed);
  EXPECT_FALSE(driver().read_link(Guid(0x2000), 3).up);
}

TEST_F(NeverForgottenTest, ALidThatAnotherProgramSetIsFoundByTheNextSweep) {
  driver();
  ASSERT_TRUE(driver().sweep());
  subnet_->node(2).ports[1].lid = 4;  // as node-3 has it
  const auto swept = driver().sweep();
  ASSERT_TRUE(swept);
  EXPECT_TRUE(swept->changed);
  EXPECT_EQ(driver().read_lid(Guid(0x1020), 1), 4);
}

TEST_F(NeverForgottenTest, EntriesAboveTheHighestLidOfASwitchAreNone) {
  auto found = driver().discover(true);
  ASSERT_TRUE(found);
  const Topology& t = *found->topology;
  auto& spine = subnet_->node(kSpine1);
  spine.lft[1] = 1;
  spine.lft[3] = 2;
  spine.linear_top = 2;
  const auto read = driver().read_tables(t, std::vector{t.find_switch(Guid(0x2002))}, 8);
  ASSERT_TRUE(read);
  ASSERT_TRUE(read->front().answered);
  EXPECT_EQ(read->front().ports[1], 1);
  EXPECT_EQ(read->front().ports[3], kNoPort) << "packets for it are dropped";
  const auto looked = driver().look(t, std::vector{t.find_switch(Guid(0x2002))}, 8);
  ASSERT_TRUE(looked);
  EXPECT_EQ(looked->front().table.ports, read->front().ports);
}

TEST_F(NeverForgottenTest, ALookSeesWhatTheMapDoesNot) {
  auto found = driver().discover(true);
  ASSERT_TRUE(found);
  const Topology& t = *found->topology;
  for (int n = 0; n < 8; ++n) {
    for (auto& port : subnet_->node(n).ports) port.state = port.peer >= 0 ? 4 : port.state;
  }
  subnet_->cut(kLeaf1, 3);
  const auto looked = driver().look(t, std::vector{t.find_switch(Guid(0x2000)), t.find_switch(Guid(0x2003))}, 8);
  ASSERT_TRUE(looked);
  ASSERT_EQ(looked->size(), 2U);
  const SwitchSight& leaf = looked->front();
  ASSERT_TRUE(leaf.table.answered);
  EXPECT_TRUE(leaf.ports[1].up && leaf.ports[1].active);
  EXPECT_EQ(leaf.ports[1].peer, Guid(0x1000));
  EXPECT_EQ(leaf.ports[1].peer_lid, 1);
  EXPECT_FALSE(leaf.ports[3].up);
  EXPECT_EQ(leaf.ports[4].peer, Guid(0x2003));
  EXPECT_EQ(leaf.ports[4].peer_port, 1U);
  EXPECT_TRUE(driver().read_link(Guid(0x2000), 3).up) << "nothing of the map is changed";
  EXPECT_TRUE(driver().sweep()->changed);
  subnet_->node(kSpine2).silent = true;
  EXPECT_FALSE(driver().look(t, std::vector{t.find_switch(Guid(0x2003))}, 8)->front().table.answered);
}

}  // namespace
}  // namespace railweave::fabric::infiniband
