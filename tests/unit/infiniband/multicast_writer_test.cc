// Multicast tables in the switches of a small subnet, where every datagram is looked at: whenever one arrives, no packet to any group may
// go round, whatever was there before; and in the end each receiver gets each packet once.
#include "fabric/drivers/infiniband/multicast_writer.h"

#include <optional>
#include <random>
#include <set>

#include "fabric/drivers/infiniband/administered_devices.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/seeds.h"
#include "tests/unit/infiniband/small_subnet.h"

namespace railweave::fabric::infiniband::multicast_writer_test {
namespace {

class MulticastWriterTest : public SmallSubnetTest {
 protected:
  MulticastWriterTest() : exchange_(*subnet_, {.window = 16, .timeout = Milliseconds(100), .attempts = 4}) {
    for (int n = 0; n < 8; ++n) {
      lids_.push_back({.device = port(n, 0).device,
                       .port = static_cast<std::uint8_t>(n < 4 ? 1 : 0),
                       .lid = static_cast<Lid>(n + 1)});
    }
    look();
  }
  // What is there now.
  void look() {
    ASSERT_TRUE(driver().sweep(true));
    ASSERT_TRUE(driver().bring_up(lids_, 0, {}));
    RoutingInput input;
    input.view = FabricView(driver().discover()->topology);
    input.scope = RoutingScope::make(input.view.topology_ptr(), {.switch_management = true}).value();
    known_ = std::make_shared<const AdministeredSubnet>(
        administered_devices(driver().map(), *input.view.topology_ptr()),
        AdministeredSubnet::Manager{.lid = 1, .info = {}}, choose_engine(*input.scope).engine->route(input).value(),
        std::vector<PartitionService>{}, nullptr);
  }
  MulticastReport keep(bool verify = false) {
    MulticastReport report;
    for (std::size_t n = 0; n < driver().map().nodes.size(); ++n) exchange_.forgive(n + 1);
    EXPECT_TRUE(writer_.keep(exchange_, driver().map(), known_, groups_, verify, report));
    return report;
  }
  // How often each adapter gets a packet to the group from one of them; nothing: it goes round.
  std::optional<std::map<int, unsigned>> flood(Lid lid, int from) {
    std::map<int, unsigned> got;
    const auto& first = subnet_->node(from).ports[1];
    std::vector<std::pair<int, unsigned>> arriving{{first.peer, first.peer_port}};
    if (first.peer < 0) return got;
    const unsigned entry = lid - 0xc000U;
    for (std::size_t i = 0; i < arriving.size(); ++i) {
      if (i > 64) return std::nullopt;
      const auto [at, in] = arriving[i];
      const auto block = subnet_->node(at).mft.find(entry / 32);
      if (block == subnet_->node(at).mft.end()) continue;
      const std::size_t place = std::size_t{2} * (entry % 32);
      const unsigned mask = block->second[place] << 8U | block->second[place + 1];
      for (unsigned p = 1; p <= 4; ++p) {
        const auto& out = subnet_->node(at).ports[p];
        if ((mask >> p & 1U) == 0 || p == in || out.peer < 0) continue;
        if (out.peer < 4) {
          ++got[out.peer];
        } else {
          arriving.emplace_back(out.peer, out.peer_port);
        }
      }
    }
    return got;
  }
  void expect_no_circles() {
    subnet_->before_answer = [this](const auto&) {
      for (const auto& group : groups_) {
        for (int host = 0; host < 4; ++host) ASSERT_TRUE(flood(group.lid, host)) << "goes round";
      }
    };
  }
  void expect_reached() {
    for (const auto& group : groups_) {
      for (const auto& sender : group.members) {
        std::map<int, unsigned> expected;
        for (const auto& member : group.members) {
          if (member.receives && member.port != sender.port) expected[host_of(member.port)] = 1;
        }
        ASSERT_EQ(flood(group.lid, host_of(sender.port)), expected);
      }
    }
  }
  static Guid guid_of(int host) { return Guid(0x1001U + 16 * static_cast<unsigned>(host)); }
  static int host_of(Guid port) { return static_cast<int>((port.value() - 0x1001U) / 16); }

  MadExchange exchange_;
  MulticastWriter writer_;
  std::vector<LidAssignment> lids_;
  AdministeredSubnetPtr known_;
  std::vector<MulticastMembers> groups_;
};

TEST_F(MulticastWriterTest, NoPacketGoesRoundWhileTreesChange) {
  std::size_t written = 0;
  for (std::uint64_t seed = 0; seed < part_of_seeds(40); ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int round = 0; round < 8; ++round) {
      groups_.clear();
      for (const unsigned lid : {0xc000U, 0xc001U, 0xc021U}) {
        MulticastMembers& group = groups_.emplace_back(MulticastMembers{.lid = static_cast<Lid>(lid), .members = {}});
        for (int host = 0; host < 4; ++host) {
          if (random() % 3 != 0) group.members.push_back({guid_of(host), random() % 4 != 0});
        }
      }
      // One cable between leaf and spine is out, another one each time.
      const int leaf = random() % 2 == 0 ? kLeaf1 : kLeaf2;
      const unsigned up = 3 + random() % 2;
      subnet_->before_answer = nullptr;
      const int spine = subnet_->node(leaf).ports[up].peer;
      const unsigned down = subnet_->node(leaf).ports[up].peer_port;
      subnet_->cut(leaf, up);
      ASSERT_NO_FATAL_FAILURE(look());
      expect_no_circles();
      written += keep().blocks;
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
      ASSERT_NO_FATAL_FAILURE(expect_reached()) << "seed " << seed;
      EXPECT_EQ(keep().blocks, 0U);  // only what differs is written
      subnet_->before_answer = nullptr;
      subnet_->cable(leaf, up, spine, down);
      ASSERT_NO_FATAL_FAILURE(look());
    }
  }
  EXPECT_GT(written, 5 * part_of_seeds(40));
}

// What another subnet manager left there, or a switch that was reset does not hold any more.
TEST_F(MulticastWriterTest, WhatSwitchesHoldIsFoundOut) {
  groups_ = {{.lid = 0xc000, .members = {{guid_of(0), true}, {guid_of(2), true}, {guid_of(3), true}}}};
  for (int n = 4; n < 8; ++n) subnet_->node(n).mft[0].fill(0x1e);
  keep();
  ASSERT_NO_FATAL_FAILURE(expect_reached());
  for (int n = 4; n < 8; ++n) {
    for (unsigned byte = 2; byte < 64; ++byte) EXPECT_EQ(subnet_->node(n).mft[0][byte], 0);
  }
  subnet_->node(kLeaf2).mft.clear();
  EXPECT_EQ(keep().blocks, 0U);
  EXPECT_EQ(keep(true).blocks, 1U);
  ASSERT_NO_FATAL_FAILURE(expect_reached());
  writer_.forget_all();
  EXPECT_EQ(keep().blocks, 0U);
}

TEST_F(MulticastWriterTest, ASwitchThatDoesNotTakeItIsWrittenLater) {
  groups_ = {{.lid = 0xc000, .members = {{guid_of(0), true}, {guid_of(2), true}}}};
  subnet_->lose_if = [](const auto& asked) { return asked.node == kLeaf1; };
  EXPECT_EQ(keep().failed, 1U);
  subnet_->lose_if = nullptr;
  EXPECT_EQ(keep().failed, 0U);
  ASSERT_NO_FATAL_FAILURE(expect_reached());
  subnet_->node(kLeaf2).refuses = IB_ATTR_MULTICASTFORWTBL;
  groups_[0].members.push_back({guid_of(3), true});
  EXPECT_EQ(keep().failed, 1U);
  subnet_->node(kLeaf2).refuses = 0;
  EXPECT_EQ(keep().failed, 0U);
  ASSERT_NO_FATAL_FAILURE(expect_reached());
}

}  // namespace
}  // namespace railweave::fabric::infiniband::multicast_writer_test
