#include "fabric/drivers/simulated/simulated_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/drivers/staged_writes.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {
namespace {

TopologyPtr three_switches() {
  TopologyBuilder builder;
  std::vector<SwitchDraft> switches;
  for (const char* name : {"a", "b", "c"}) {
    switches.push_back(builder.add_switch({.guid = Guid(0x10 + switches.size()), .name = name, .ports = 4}));
  }
  builder.connect({switches[0], 1}, {switches[1], 1}, infiniband_link(4, LinkSpeed::ndr));
  builder.connect({switches[1], 2}, {switches[2], 1}, infiniband_link(4, LinkSpeed::ndr));
  auto built = std::move(builder).build();
  return std::make_shared<const Topology>(std::move(*built));
}

LftBlock block(std::size_t sw, std::uint16_t number, std::uint16_t stage) {
  LftBlock out{.sw = SwitchId(sw), .number = number, .stage = stage};
  out.ports.fill(static_cast<std::uint16_t>(stage + 1));
  return out;
}

TEST(StagedWrites, NumbersDoNotWaitForEachOther) {
  ForwardingDelta delta;
  delta.blocks = {block(0, 0, 0), block(1, 0, 1), block(2, 0, 1), block(0, 1, 0), block(1, 1, 2)};
  StagedWrites stages(delta);
  EXPECT_THAT(stages.take_ready(), testing::ElementsAre(0, 3));
  EXPECT_THAT(stages.take_ready(), testing::IsEmpty());
  stages.applied(3);
  EXPECT_THAT(stages.take_ready(), testing::ElementsAre(4));
  stages.failed(0);
  EXPECT_THAT(stages.take_ready(), testing::IsEmpty());
  stages.applied(4);
  EXPECT_THAT(stages.held(), testing::ElementsAre(1, 2));
}

TEST(StagedWrites, DroppingWritesComeBeforeAllOthers) {
  ForwardingDelta delta;
  delta.drops_first = true;
  delta.waits = {1};
  delta.blocks = {block(0, 0, 0), block(0, 1, 0), block(0, 0, 1), block(0, 1, 1), block(1, 2, 1)};
  StagedWrites stages(delta);
  EXPECT_THAT(stages.take_ready(), testing::ElementsAre(0, 1));
  stages.applied(0);
  EXPECT_THAT(stages.take_ready(), testing::IsEmpty());
  EXPECT_FALSE(stages.waits_for_packets());
  stages.applied(1);
  EXPECT_TRUE(stages.waits_for_packets());
  stages.packets_gone();
  EXPECT_FALSE(stages.waits_for_packets());
  EXPECT_THAT(stages.take_ready(), testing::ElementsAre(2, 3, 4));
}

// Packets leave the fabric before each of the stages that are named; within what lies between, numbers do not wait.
TEST(StagedWrites, EveryWaitIsForAllBlocksBeforeIt) {
  ForwardingDelta delta;
  delta.waits = {1, 3};
  delta.blocks = {block(0, 0, 0), block(1, 1, 0), block(0, 0, 1), block(0, 0, 2), block(1, 1, 3), block(2, 2, 4)};
  StagedWrites stages(delta);
  EXPECT_THAT(stages.take_ready(), testing::ElementsAre(0, 1));
  stages.applied(0);
  EXPECT_FALSE(stages.waits_for_packets()) << "block 1 is under way";
  stages.applied(1);
  ASSERT_TRUE(stages.waits_for_packets());
  stages.packets_gone();
  EXPECT_THAT(stages.take_ready(), testing::ElementsAre(2));
  stages.applied(2);
  EXPECT_THAT(stages.take_ready(), testing::ElementsAre(3));
  EXPECT_FALSE(stages.waits_for_packets());
  stages.failed(3);
  ASSERT_TRUE(stages.waits_for_packets());
  stages.packets_gone();
  EXPECT_THAT(stages.take_ready(), testing::ElementsAre(4, 5));
  stages.applied(4);
  stages.applied(5);
  EXPECT_FALSE(stages.waits_for_packets());
}

TEST(SimulatedDriver, AppliesInStagesAndNamesWhatFailed) {
  const TopologyPtr topology = three_switches();
  SimulatedDriver driver(topology);
  ForwardingDelta delta;
  delta.blocks = {block(0, 0, 0), block(1, 0, 1), block(2, 0, 2), block(0, 1, 0), block(2, 1, 1)};
  driver.silence(Guid(0x11));
  const auto report = driver.program(*topology, delta);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->blocks, testing::ElementsAre(WriteOutcome::applied, WriteOutcome::silent, WriteOutcome::held,
                                                   WriteOutcome::applied, WriteOutcome::applied));
  ASSERT_EQ(report->isolated.size(), 1U);
  EXPECT_EQ(report->isolated[0].sw, SwitchId(1));
  EXPECT_EQ(driver.out_port(Guid(0x10), 5), 1);
  EXPECT_EQ(driver.out_port(Guid(0x12), 5), kNoPort);
  EXPECT_EQ(driver.out_port(Guid(0x12), 70), 2);
  driver.silence(Guid(0x11), false);
  EXPECT_TRUE(driver.program(*topology, delta)->complete());
  EXPECT_EQ(driver.out_port(Guid(0x12), 5), 3);
}

TEST(SimulatedDriver, ReportsChangesOnce) {
  const TopologyPtr topology = three_switches();
  SimulatedDriver driver(topology);
  EXPECT_TRUE(driver.discover()->changed);
  EXPECT_FALSE(driver.discover()->changed);
  const Guid reporting[] = {Guid(0x10)};
  driver.become(three_switches(), reporting);
  EXPECT_EQ(driver.observe(std::chrono::milliseconds(0))->size(), 1U);
  EXPECT_TRUE(driver.observe(std::chrono::milliseconds(0))->empty());
  EXPECT_TRUE(driver.discover()->changed);
}

PortTables tables_of(std::uint64_t guid, std::uint8_t port) {
  PortTables tables{.port = {Guid(guid), port}};
  tables.sl_to_vl.emplace().fill(3);
  tables.arbitration = VlArbitration{{{3, 10}}, {{0, 2}}, std::uint8_t{5}};
  tables.pkeys = std::vector<std::uint16_t>{0xffff, 0x8001};
  return tables;
}

TEST(SimulatedDriver, KeepsPortTables) {
  SimulatedDriver driver(three_switches());
  const std::vector<PortTables> wanted{tables_of(0x10, 1), tables_of(0x11, 2)};
  const auto report = driver.program_ports(wanted);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->complete());
  EXPECT_EQ(report->written, 10U);
  EXPECT_EQ(report->ports[1].sl_to_vl, TableOutcome::applied);
  const auto again = driver.program_ports(wanted);
  EXPECT_EQ(again->written, 0U);
  EXPECT_EQ(again->ports[0].arbitration, TableOutcome::unchanged);
  const auto read = driver.read_port_tables(std::vector<PortRef>{{Guid(0x11), 2}, {Guid(0x10), 2}, {Guid(0x10), 9}});
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)[0].tables, wanted[1]);
  EXPECT_EQ(*(*read)[1].tables.pkeys, std::vector<std::uint16_t>{0xffff}) << "what it started with";
  EXPECT_FALSE((*read)[2].answered);
}

TEST(SimulatedDriver, PortTablesFailPortByPort) {
  SimulatedDriver driver(three_switches());
  driver.silence(Guid(0x10));
  driver.refuse(Guid(0x11));
  driver.keep_high_limits(false);
  PortTables bad = tables_of(0x12, 2);
  bad.pkeys = std::vector<std::uint16_t>{0x8001};
  bad.arbitration->high[0].vl = 8;
  const std::vector<PortTables> wanted{
      tables_of(0x10, 1), tables_of(0x10, 2), tables_of(0x11, 1), tables_of(0x12, 1), bad,
      tables_of(0x12, 1), tables_of(0x12, 5)};
  const auto report = driver.program_ports(wanted);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->isolated.size(), 1U);
  EXPECT_EQ(report->isolated[0].device, Guid(0x10));
  EXPECT_EQ(report->ports[1].pkeys, TableOutcome::silent);
  EXPECT_EQ(report->ports[2].sl_to_vl, TableOutcome::refused);
  EXPECT_TRUE(report->ports[3].complete());
  EXPECT_EQ(report->ports[3].high_limit, TableOutcome::notKept);
  EXPECT_EQ(report->ports[4].pkeys, TableOutcome::invalid);
  EXPECT_EQ(report->ports[4].arbitration, TableOutcome::invalid);
  EXPECT_EQ(report->ports[5].reason, "is given twice");
  EXPECT_EQ(report->ports[6].reason, "has no such port");
}

TEST(SimulatedDriver, ReadsTheCountersThatAreSet) {
  SimulatedDriver driver(three_switches());
  const PortRef port{Guid(0x10), 1};
  PortCounts counts{.transmit_bytes = 1000};
  counts[ErrorCounter::symbol_errors] = 5;
  driver.set_counts(port, counts);
  driver.set_time_us(77);
  driver.silence(Guid(0x12));
  const auto read = driver.read_counters(std::vector<PortRef>{port, {Guid(0x11), 1}, {Guid(0x12), 1}});
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)[0].counts, counts);
  EXPECT_EQ((*read)[0].at_us, 77);
  EXPECT_EQ((*read)[1].counts, PortCounts{});
  EXPECT_FALSE((*read)[2].answered);
  driver.fail_with({.code = "test.gone"});
  EXPECT_FALSE(driver.read_counters({}));
}

}  // namespace
}  // namespace railweave::fabric
