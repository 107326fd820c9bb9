// Counters of ports read from a subnet in memory.
#include <random>

#include "tests/unit/infiniband/small_subnet.h"

namespace railweave::fabric::infiniband {
namespace {

class CountersTest : public SmallSubnetTest {
 protected:
  std::vector<PortRef> everywhere() const {
    std::vector<PortRef> ports;
    for (int n = 0; n < 8; ++n) {
      for (unsigned p = 1; p < (n < 4 ? 2U : 5U); ++p) ports.push_back(port(n, p));
    }
    return ports;
  }
  // Gives each port counters, returns what is to be read of them.
  std::vector<PortCounts> count_something(std::uint32_t seed) {
    std::mt19937_64 random(seed);
    std::vector<PortCounts> expected;
    for (int n = 0; n < 8; ++n) {
      for (unsigned p = 1; p < subnet_->node(n).ports.size(); ++p) {
        auto& counters = subnet_->node(n).ports[p].counters;
        PortCounts& counts = expected.emplace_back();
        const auto draw = [&](MAD_FIELDS field, std::uint64_t below) { return counters[field] = random() % below; };
        const unsigned abilities = subnet_->node(n).performance_abilities;
        counts[ErrorCounter::symbol_errors] = static_cast<std::uint32_t>(draw(IB_PC_ERR_SYM_F, 65536));
        counts[ErrorCounter::link_recoveries] = static_cast<std::uint32_t>(draw(IB_PC_LINK_RECOVERS_F, 256));
        counts[ErrorCounter::link_downed] = static_cast<std::uint32_t>(draw(IB_PC_LINK_DOWNED_F, 256));
        counts[ErrorCounter::receive_errors] = static_cast<std::uint32_t>(draw(IB_PC_ERR_RCV_F, 65536));
        counts[ErrorCounter::transmit_discards] = static_cast<std::uint32_t>(draw(IB_PC_XMT_DISCARDS_F, 65536));
        counts[ErrorCounter::vl15_dropped] = static_cast<std::uint32_t>(draw(IB_PC_VL15_DROPPED_F, 65536));
        const auto wait = static_cast<std::uint32_t>(draw(IB_PC_XMT_WAIT_F, 1ULL << 32U));
        counts.wait_known = (abilities & 0x1000U) != 0;
        if (counts.wait_known) counts.transmit_wait = wait;
        counts.wide = (abilities & 0x600U) != 0;
        std::array<std::uint64_t, 4> narrow, wide;
        std::size_t i = 0;
        for (const auto field : {IB_PC_XMT_BYTES_F, IB_PC_RCV_BYTES_F, IB_PC_XMT_PKTS_F, IB_PC_RCV_PKTS_F})
          narrow[i++] = draw(field, 1ULL << 32U);
        i = 0;
        for (const auto field :
             {IB_PC_EXT_XMT_BYTES_F, IB_PC_EXT_RCV_BYTES_F, IB_PC_EXT_XMT_PKTS_F, IB_PC_EXT_RCV_PKTS_F})
          wide[i++] = draw(field, 1ULL << 60U);
        const auto& traffic = counts.wide ? wide : narrow;
        counts.transmit_bytes = traffic[0] * 4, counts.receive_bytes = traffic[1] * 4;
        counts.transmit_packets = traffic[2], counts.receive_packets = traffic[3];
      }
    }
    return expected;
  }
};

TEST_F(CountersTest, AreReadAsTheDevicesCountThem) {
  subnet_->node(kLeaf1).performance_abilities = 0x400;   // extended without unicast and multicast; no wait
  subnet_->node(kLeaf2).performance_abilities = 0x1000;  // 32 bits only
  subnet_->node(kSpine1).performance_abilities = 0;      // the same, and no ClassPortInfo
  const auto expected = count_something(1);
  const auto ports = everywhere();
  const auto readings = driver({.mode = SubnetMode::observe}).read_counters(ports);
  ASSERT_TRUE(readings);
  ASSERT_EQ(readings->size(), ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    EXPECT_TRUE((*readings)[i].answered) << i << (*readings)[i].reason;
    EXPECT_EQ((*readings)[i].port, ports[i]);
    EXPECT_EQ((*readings)[i].counts, expected[i]) << i;
  }
  EXPECT_EQ(sets(), 0U) << "nothing is reset";
  EXPECT_LE(subnet_->most_under_way, 16U);
  const std::size_t before = subnet_->asked.size();
  ASSERT_TRUE(driver().read_counters(ports));
  const std::size_t wide = 4 + 2 * 4;
  EXPECT_EQ(subnet_->asked.size() - before, ports.size() + wide) << "abilities are asked for once";
}

TEST_F(CountersTest, SurviveLossesAndASilentSwitch) {
  const auto expected = count_something(2);
  const auto ports = everywhere();
  driver();
  subnet_->lose(0.03, 9);
  subnet_->node(kSpine2).silent = true;
  const auto readings = driver().read_counters(ports);
  ASSERT_TRUE(readings);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const bool silent = ports[i].device == port(kSpine2, 0).device;
    EXPECT_EQ((*readings)[i].answered, !silent);
    EXPECT_EQ((*readings)[i].reason, silent ? "does not answer" : "");
    if (!silent) {
      EXPECT_EQ((*readings)[i].counts, expected[i]);
    }
  }
}

TEST_F(CountersTest, PortsThatCannotBeAskedAreNamed) {
  subnet_->node(kLeaf2).ports[0].lid = 0;
  const std::vector<PortRef> ports = {port(kLeaf2, 1), port(kLeaf1, 9), port(kLeaf1, 0), {Guid(5), 1}, port(kLeaf1, 1)};
  const auto readings = driver().read_counters(ports);
  ASSERT_TRUE(readings);
  EXPECT_EQ((*readings)[0].reason, "has no LID");
  EXPECT_EQ((*readings)[1].reason, "has no such port");
  EXPECT_EQ((*readings)[2].reason, "has no such port");
  EXPECT_EQ((*readings)[3].reason, "is not in the subnet");
  EXPECT_TRUE((*readings)[4].answered);
}

TEST_F(CountersTest, AreAskedForAtABoundedRate) {
  auto& subject = driver({.mode = SubnetMode::observe, .counters = {.mads_per_second = 1000}});
  std::vector<PortRef> ports;
  for (int i = 0; i < 100; ++i) {
    for (const PortRef at : everywhere()) ports.push_back(at);
  }
  std::vector<TimePoint> sent;
  subnet_->before_answer = [&](const MemorySubnet::Asked&) { sent.push_back(subnet_->now()); };
  ASSERT_TRUE(subject.read_counters(ports));
  ASSERT_GT(sent.size(), 4000U);
  const double seconds = std::chrono::duration<double>(sent.back() - sent.front()).count();
  EXPECT_NEAR(static_cast<double>(sent.size()) / seconds, 1000, 10);
  // In any 100 ms no more than the rate allows and what is caught up with.
  for (std::size_t i = 0; i + 110 < sent.size(); ++i) EXPECT_GE(sent[i + 110] - sent[i], Milliseconds(100)) << i;
  const TimePoint start = subnet_->now();
  ASSERT_TRUE(subject.discover(true));
  EXPECT_LT(subnet_->now() - start, Milliseconds(50)) << "the limit is that of counters only";
}

TEST_F(CountersTest, CarryTheTimeAtWhichTheyWereRead) {
  const auto first = driver().read_counters(std::vector{port(kLeaf1, 1)});
  ASSERT_TRUE(driver().observe(Milliseconds(250)));
  const auto second = driver().read_counters(std::vector{port(kLeaf1, 1)});
  EXPECT_NEAR(static_cast<double>((*second)[0].at_us - (*first)[0].at_us), 250'000, 5'000);
}

}  // namespace
}  // namespace railweave::fabric::infiniband
