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

}  // namespace
}  // namespace railweave::fabric
