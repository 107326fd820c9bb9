// Port tables against a subnet in memory: what is written, and what is not.
#include <random>

#include "tests/unit/infiniband/small_subnet.h"

namespace railweave::fabric::infiniband {
namespace {

using Outcome = TableOutcome;
using SlMap = std::array<std::uint8_t, 16>;

class PortTablesTest : public SmallSubnetTest {
 protected:
  static PortTables some_tables(PortRef at, std::uint32_t seed) {
    std::mt19937 random(seed);
    PortTables out{.port = at};
    out.sl_to_vl.emplace();
    for (auto& vl : *out.sl_to_vl) vl = static_cast<std::uint8_t>(random() % 8);
    out.arbitration.emplace();
    for (std::uint8_t vl = 0; vl < 8; ++vl) {
      out.arbitration->high.push_back({vl, static_cast<std::uint8_t>(random() % 256)});
      out.arbitration->low.push_back({vl, static_cast<std::uint8_t>(1 + random() % 255)});
    }
    out.arbitration->high.resize(random() % 8 + 1);
    out.arbitration->high_limit = static_cast<std::uint8_t>(random());
    out.pkeys = std::vector<std::uint16_t>{0xffff};
    for (std::size_t i = random() % 35; i-- > 0;) {
      out.pkeys->push_back(static_cast<std::uint16_t>((random() % 2 != 0 ? 0x8000U : 0U) | (out.pkeys->size() + 16)));
    }
    return out;
  }
  // Input ports whose map is not that of the lowest.
  static std::ptrdiff_t different_maps(const PortTablesReading& reading) {
    return std::ranges::count_if(reading.lane_maps,
                                 [&](const auto& one) { return one.second != *reading.tables.sl_to_vl; });
  }
  std::vector<PortTables> everywhere() const {
    std::vector<PortTables> wanted;
    for (int n = 0; n < 8; ++n) {
      for (unsigned p = 1; p < (n < 4 ? 2U : 5U); ++p) {
        wanted.push_back(some_tables(port(n, p), static_cast<std::uint32_t>(wanted.size())));
      }
    }
    return wanted;
  }
  MemorySubnet::Port& end(PortRef at) {
    for (int n = 0; n < 8; ++n) {
      if (subnet_->node(n).guid == at.device.value()) return subnet_->node(n).ports[at.port];
    }
    throw std::logic_error("no such port");
  }
  SlMap sl_map(PortRef at, unsigned in_port) {
    SlMap map;
    const auto& raw = end(at).sl_to_vl[in_port];
    for (std::size_t sl = 0; sl < 16; ++sl) map[sl] = (sl % 2 == 0 ? raw[sl / 2] >> 4 : raw[sl / 2]) & 15;
    return map;
  }
  // Every byte of the port as wanted, in the subnet's own storage.
  void expect_written(const PortTables& wanted) {
    MemorySubnet::Port& at = end(wanted.port);
    const bool is_switch = wanted.port.device.value() >= 0x2000;
    for (unsigned in = is_switch ? 1 : 0; in < (is_switch ? 5U : 1U); ++in) {
      EXPECT_EQ(sl_map(wanted.port, in), *wanted.sl_to_vl) << "in port " << in;
    }
    EXPECT_EQ(at.sl_to_vl.size(), is_switch ? 4U : 1U);
    for (const auto& [part, entries] :
         {std::pair(1U, wanted.arbitration->low), std::pair(3U, wanted.arbitration->high)}) {
      for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(at.arbitration[part][2 * i], i < entries.size() ? entries[i].vl : 0);
        EXPECT_EQ(at.arbitration[part][2 * i + 1], i < entries.size() ? entries[i].weight : 0);
      }
    }
    EXPECT_EQ(at.high_limit, *wanted.arbitration->high_limit);
    for (std::size_t i = 0; i < 64; ++i) {
      const unsigned big_endian = at.pkeys[i];
      EXPECT_EQ((big_endian >> 8U | big_endian << 8U) & 0xffffU, i < wanted.pkeys->size() ? (*wanted.pkeys)[i] : 0U);
    }
  }
};

TEST_F(PortTablesTest, AreWrittenToEveryPortThenUnchangedAndReadBack) {
  const auto wanted = everywhere();
  const auto report = driver().program_ports(wanted);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->complete());
  EXPECT_THAT(report->isolated, testing::IsEmpty());
  for (const auto& tables : wanted) expect_written(tables);
  ASSERT_EQ(report->ports.size(), wanted.size());
  for (const auto& port : report->ports) {
    EXPECT_EQ(port.sl_to_vl, Outcome::applied);
    EXPECT_EQ(port.arbitration, Outcome::applied);
    EXPECT_EQ(port.pkeys, Outcome::applied);
    EXPECT_EQ(port.reason, "");
  }
  EXPECT_LE(subnet_->most_under_way, 16U) << "the window";
  const std::size_t before = sets();
  const auto again = driver().program_ports(wanted);
  EXPECT_EQ(sets(), before);
  EXPECT_EQ(again->written, 0U);
  ASSERT_EQ(again->ports.size(), wanted.size());
  for (const auto& port : again->ports) EXPECT_EQ(port.pkeys, Outcome::unchanged);
  std::vector<PortRef> ports;
  for (const auto& tables : wanted) ports.push_back(tables.port);
  const auto readings = driver().read_port_tables(ports);
  ASSERT_TRUE(readings);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE((*readings)[i].answered);
    EXPECT_EQ(different_maps((*readings)[i]), 0);
    PortTables expected = wanted[i];
    auto& high = expected.arbitration->high;
    while (!high.empty() && high.back().weight == 0) high.pop_back();
    EXPECT_EQ((*readings)[i].tables, expected) << i;
  }
}

// A switch drops what may not come in by a port: each input port has a map of its own.
TEST_F(PortTablesTest, TheFilterIsInTheMapsOfItsInputPorts) {
  auto wanted = everywhere();
  std::erase_if(wanted, [](const PortTables& one) { return one.port.device.value() < 0x2000; });
  const IngressFilter filter(std::vector<std::uint16_t>{0xffff, 0x0001, 0xffff, 0x8005, 0x0000});
  for (auto& tables : wanted) tables.ingress = filter;
  const auto report = driver().program_ports(wanted);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->complete());
  ASSERT_EQ(wanted.size(), 16U);
  const auto expected = [&](const PortTables& tables, unsigned in) {
    SlMap map = *tables.sl_to_vl;
    for (unsigned level = 0; level < 16; ++level) {
      const bool passes = in == 2 || (in == 1 && level == 0) || (in == 3 && (level == 0 || level == 2 || level == 15));
      if (!passes) map[level] = 15;
    }
    return map;
  };
  for (const auto& tables : wanted) {
    for (unsigned in = 1; in < 5; ++in) EXPECT_EQ(sl_map(tables.port, in), expected(tables, in)) << "in port " << in;
  }
  const auto readings = driver().read_port_tables(std::vector<PortRef>{wanted[5].port});
  ASSERT_TRUE(readings);
  EXPECT_EQ((*readings)[0].tables.sl_to_vl, expected(wanted[5], 1));
  ASSERT_EQ((*readings)[0].lane_maps.size(), 4U);
  for (const auto& [in, map] : (*readings)[0].lane_maps) EXPECT_EQ(map, expected(wanted[5], in));

  // Only what changed is asked for and written.
  for (auto& tables : wanted) {
    tables.ingress = IngressFilter(std::vector<std::uint16_t>{0xffff, 0x0001, 0xffff, 0x8005, 0x0002});
    tables.arbitration.reset();
    tables.pkeys.reset();
    tables.changed_in_ports = {4};
  }
  end(wanted[0].port).sl_to_vl[2][0] ^= 0x10;  // another subnet manager wrote it: not looked at now
  const std::size_t before = sets();
  const auto changed = driver().program_ports(wanted);
  ASSERT_TRUE(changed);
  EXPECT_EQ(sets() - before, 16U);
  EXPECT_EQ(changed->written, 16U);
  EXPECT_LT(changed->asked, 16U * 5) << "the port, its map, the write, the map again";
  for (const auto& tables : wanted) {
    EXPECT_EQ(sl_map(tables.port, 4)[1], (*tables.sl_to_vl)[1]);
    EXPECT_EQ(sl_map(tables.port, 4)[0], 15);
  }
}

// Writes are checked against the limits that ports report.
TEST_F(PortTablesTest, LimitsAreKnownFromTheSweep) {
  std::size_t managing = 0;
  ASSERT_FALSE(everywhere().empty());
  for (const auto& tables : everywhere()) {
    const auto limits = driver().read_limits(tables.port);
    ASSERT_TRUE(limits);
    EXPECT_EQ(limits->data_vls, 8U);
    EXPECT_EQ(limits->possible_vls, 8U);
    EXPECT_GE(limits->low_entries, 8U);
    EXPECT_GE(limits->pkeys, tables.pkeys->size());
    managing += limits->full_default_pkey ? 1U : 0U;
  }
  EXPECT_EQ(managing, 1U);
  EXPECT_FALSE(driver().read_limits({Guid(0xdead), 1}));
}

TEST_F(PortTablesTest, OnlyBlocksThatDifferAreWritten) {
  auto wanted = everywhere();
  ASSERT_TRUE(driver().program_ports(wanted));
  const std::size_t before = sets();
  end(wanted[5].port).sl_to_vl[3][2] ^= 0x10;  // one input port of one switch port forgot one entry
  (*wanted[9].pkeys)[0] = 0x7fff;              // and one partition table is to change in its first block
  const auto readings = driver().read_port_tables(std::vector{wanted[5].port});
  EXPECT_EQ(different_maps((*readings)[0]), 1);
  const auto report = driver().program_ports(wanted);
  EXPECT_TRUE(report->complete());
  EXPECT_EQ(report->written, 2U);
  EXPECT_EQ(sets(), before + 2);
  for (const auto& tables : wanted) expect_written(tables);
}

TEST_F(PortTablesTest, WhatIsNotAskedForStaysAsItIs) {
  const auto wanted = everywhere();
  ASSERT_TRUE(driver().program_ports(wanted));
  const auto pkeys = end(port(kLeaf1, 2)).pkeys;
  PortTables some{.port = port(kLeaf1, 2)};
  some.sl_to_vl = SlMap{};
  const auto report = driver().program_ports(std::vector{some});
  EXPECT_EQ(report->ports[0].pkeys, Outcome::notAsked);
  EXPECT_EQ(report->ports[0].sl_to_vl, Outcome::applied);
  EXPECT_EQ(end(port(kLeaf1, 2)).pkeys, pkeys);
  expect_written(wanted[4]);
}

TEST_F(PortTablesTest, SurviveLostDatagrams) {
  const auto wanted = everywhere();
  driver();
  subnet_->lose(0.02, 5);
  const auto report = driver().program_ports(wanted);
  subnet_->lose(0, 0);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->complete());
  for (const auto& tables : wanted) expect_written(tables);
}

TEST_F(PortTablesTest, ASilentSwitchIsNamedOnceAndDelaysNoOther) {
  const auto wanted = everywhere();
  driver();
  subnet_->node(kSpine2).silent = true;
  const TimePoint start = subnet_->now();
  TimePoint last_answer{};
  subnet_->before_answer = [&](const MemorySubnet::Asked& asked) {
    if (asked.method == IB_MAD_METHOD_SET) last_answer = subnet_->now();
  };
  const auto report = driver().program_ports(wanted);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->isolated.size(), 1U);
  EXPECT_EQ(report->isolated[0].device, port(kSpine2, 0).device);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool silent = wanted[i].port.device == port(kSpine2, 0).device;
    EXPECT_EQ(report->ports[i].complete(), !silent);
    EXPECT_EQ(report->ports[i].pkeys, silent ? Outcome::silent : Outcome::applied);
    if (!silent) expect_written(wanted[i]);
  }
  // PortInfo comes first, for all ports; tables follow when it is given up.
  EXPECT_LT(last_answer - start, Milliseconds(900));
}

TEST_F(PortTablesTest, ASwitchThatFallsSilentHalfwayDoesNotHoldTheOthersUp) {
  const auto wanted = everywhere();
  driver();
  TimePoint fell{}, last_answer{};
  subnet_->before_answer = [&](const MemorySubnet::Asked& asked) {
    if (asked.method != IB_MAD_METHOD_SET) return;
    last_answer = subnet_->now();
    if (asked.node == kSpine2 && fell == TimePoint{}) {
      subnet_->node(kSpine2).silent = true;
      fell = subnet_->now();
    }
  };
  const auto report = driver().program_ports(wanted);
  ASSERT_EQ(report->isolated.size(), 1U);
  ASSERT_NE(fell, TimePoint{});
  EXPECT_LT(last_answer - fell, Milliseconds(100)) << "all others were done before the first timeout";
}

TEST_F(PortTablesTest, WhatThePortCannotHoldIsNotSent) {
  driver();
  subnet_->node(kLeaf2).ports[1].vl_capacity = 3;      // VL0-3
  subnet_->node(kLeaf2).ports[2].operational_vls = 2;  // VL0-1, of 8
  subnet_->node(kLeaf2).ports[3].vl_capacity = 1;      // VL0
  const auto lanes = [&](PortRef at, std::uint8_t vl) {
    PortTables out{.port = at};
    out.sl_to_vl = SlMap{};
    (*out.sl_to_vl)[7] = vl;
    return out;
  };
  const auto keys = [&](PortRef at, std::vector<std::uint16_t> pkeys) {
    return PortTables{.port = at, .pkeys = std::move(pkeys)};
  };
  const auto weighs = [&](PortRef at, std::vector<VlWeight> high, std::vector<VlWeight> low) {
    return PortTables{.port = at, .arbitration = VlArbitration{std::move(high), std::move(low), std::uint8_t{1}}};
  };
  std::vector<std::uint16_t> many(41, 0);
  many[0] = 0xffff;
  PortTables starved = weighs(port(kSpine1, 2), {}, {{0, 1}});
  starved.sl_to_vl = SlMap{1};
  const std::vector<std::pair<PortTables, std::string>> bad = {
      {lanes(port(kLeaf1, 1), 8), "SL to VL names VL 8, the port has 8"},
      {lanes(port(kLeaf2, 1), 4), "SL to VL names VL 4, the port has 4"},
      {lanes(port(kLeaf2, 2), 2), "SL to VL names VL 2, the port has 2"},
      {lanes(port(kLeaf2, 3), 0), "the port has one data VL"},
      {lanes(port(kLeaf1, 0), 0), "the port has one data VL"},
      {weighs(port(kLeaf1, 2), std::vector<VlWeight>(9, {0, 1}), {}), "9 high arbitration entries, the port has 8"},
      {weighs(port(kLeaf1, 3), {{8, 1}}, {}), "high arbitration names VL 8, the port has 8"},
      {weighs(port(kLeaf1, 4), {{1, 0}}, {}), "arbitration without any weight sends nothing"},
      {starved, "VL 1 is used and has no weight in arbitration"},
      {keys(port(kSpine1, 1), many), "41 PKeys, the port holds 40"},
      {keys(port(1, 1), {0x8001}), "the default PKey would go from index 0"},
      {keys(port(2, 1), {}), "the default PKey would go from index 0"},
      {keys(port(3, 1), {0xffff, 0x8000}), "PKey 0x8000 is no partition"},
      {keys(port(kSpine2, 1), {0x7fff, 5, 5}), "PKey 5 is there twice"},
      {keys(port(0, 1), {0x7fff}), "the managing port would be a limited member of the default partition"},
  };
  std::vector<PortTables> wanted;
  for (const auto& [tables, reason] : bad) wanted.push_back(tables);
  wanted.push_back(keys(port(kSpine2, 5), {0xffff}));
  wanted.push_back(keys(port(kSpine2, 255), {0xffff}));
  wanted.push_back(keys({Guid(0x77), 1}, {0xffff}));
  wanted.push_back(keys(port(kLeaf1, 1), {0xffff}));
  wanted.push_back(some_tables(port(kSpine2, 2), 1));
  const std::size_t good = wanted.size() - 1;
  subnet_->asked.clear();
  const auto report = driver().program_ports(wanted);
  ASSERT_TRUE(report);
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(report->ports[i].reason, bad[i].second) << i;
    EXPECT_FALSE(report->ports[i].complete());
  }
  EXPECT_EQ(report->ports[bad.size()].reason, "has no such port");
  EXPECT_EQ(report->ports[bad.size() + 1].reason, "has no such port");
  EXPECT_EQ(report->ports[bad.size() + 2].reason, "is not in the subnet");
  EXPECT_EQ(report->ports[bad.size() + 3].reason, "is given twice");
  EXPECT_TRUE(report->ports[good].complete());
  expect_written(wanted[good]);
  ASSERT_FALSE(subnet_->asked.empty());
  for (const auto& asked : subnet_->asked) {
    EXPECT_TRUE(asked.method != IB_MAD_METHOD_SET || asked.node == kSpine2) << asked.node;
    EXPECT_NE(asked.management_class, 0x21U);
  }
}

TEST_F(PortTablesTest, TheDefaultPKeyGoesWhereThatIsAskedFor) {
  PortTables tables{.port = port(1, 1), .pkeys = std::vector<std::uint16_t>{0x8001}, .may_remove_default_pkey = true};
  EXPECT_TRUE(driver().program_ports(std::vector{tables})->complete());
}

TEST_F(PortTablesTest, RefusalsMismatchesAndLimitsThatAreNotKeptSpareTheRest) {
  std::vector<PortTables> wanted = {some_tables(port(kLeaf1, 1), 1), some_tables(port(kLeaf2, 1), 2),
                                    some_tables(port(kSpine1, 1), 3)};
  wanted[1].arbitration->high_limit = 7;
  driver();
  subnet_->node(kLeaf1).refuses = IB_ATTR_SLVL_TABLE;
  end(wanted[1].port).keeps_high_limit = false;
  int forgets = 1000;
  subnet_->before_answer = [&](const MemorySubnet::Asked& asked) {
    if (asked.node == kSpine1 && asked.attribute == IB_ATTR_PKEY_TBL && asked.method == IB_MAD_METHOD_GET &&
        forgets-- > 0)
      end(wanted[2].port).pkeys[1] ^= 1;
  };
  const auto report = driver().program_ports(wanted);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->ports[0].sl_to_vl, Outcome::refused);
  EXPECT_EQ(report->ports[0].reason, "refused SLtoVL from port 1: invalid value");
  EXPECT_EQ(report->ports[0].pkeys, Outcome::applied);
  EXPECT_EQ(report->ports[1].high_limit, Outcome::notKept);
  EXPECT_EQ(report->ports[1].arbitration, Outcome::applied);
  EXPECT_TRUE(report->ports[1].complete()) << "what a device does not have is no failure of the rest";
  EXPECT_EQ(report->ports[2].pkeys, Outcome::mismatch);
  EXPECT_EQ(report->ports[2].sl_to_vl, Outcome::applied);
  EXPECT_THAT(report->isolated, testing::IsEmpty());
  forgets = 2;  // once before the write, once after it; then the second write is kept
  EXPECT_TRUE(driver().program_ports(std::vector{wanted[2]})->complete());
}

TEST_F(PortTablesTest, AnEnhancedPortZeroHasLanesOfItsOwn) {
  subnet_->node(kLeaf1).enhanced_port_zero = true;
  PortTables zero{.port = port(kLeaf1, 0)}, one{.port = port(kLeaf1, 1)};
  zero.sl_to_vl = one.sl_to_vl = SlMap{1, 2, 3};
  EXPECT_TRUE(driver().program_ports(std::vector{zero, one})->complete());
  EXPECT_EQ(sl_map(zero.port, 0), *zero.sl_to_vl);
  EXPECT_EQ(end(zero.port).sl_to_vl.size(), 1U);
  EXPECT_EQ(end(one.port).sl_to_vl.size(), 5U) << "from port 0, too";
}

TEST_F(PortTablesTest, AnObserverReadsAndWritesNothing) {
  driver({.mode = SubnetMode::observe});
  const auto report = driver().program_ports(everywhere());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "ib.observeOnly");
  EXPECT_TRUE((*driver().read_port_tables(std::vector{port(kLeaf1, 1)}))[0].answered);
  EXPECT_EQ(sets(), 0U);
}

}  // namespace
}  // namespace railweave::fabric::infiniband
