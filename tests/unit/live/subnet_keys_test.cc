// Management keys on a simulated subnet: when ports get them, what is said of them, and when they are given back.
#include <gtest/gtest.h>

#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

class SubnetKeysTest : public LiveTest {
 protected:
  void start_keyed(SubnetMode mode = SubnetMode::direct) {
    has_key_ = true;
    start_live({}, mode);
    switches_->use_keys(
        {.secrets = {[](Guid device, std::uint64_t generation) { return device.value() * 1'000 + generation; }}});
  }
  [[nodiscard]] std::size_t holding(std::uint64_t generation) const {
    std::size_t count = 0;
    for (const auto sw : topology_->switches()) {
      const Guid guid = topology_->guid(sw);
      count += switches_->key_of(guid) == guid.value() * 1'000 + generation ? 1 : 0;
    }
    return count;
  }
  [[nodiscard]] std::size_t all() const { return topology_->switches().size(); }
  [[nodiscard]] Guid first() const { return topology_->guid(fabric::SwitchId(0)); }
};

TEST_F(SubnetKeysTest, PortsGetKeysInDirectModeAndAreProgrammed) {
  start_keyed();
  settle();
  EXPECT_EQ(holding(1), all());
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  ASSERT_TRUE(status()->discovery.keys);
  EXPECT_EQ(status()->discovery.keys->held, all());
}

TEST_F(SubnetKeysTest, ARotationIsDurableAndReachesAllPorts) {
  start_keyed();
  settle();
  must(RotateSubnetKey{"plane-0", "a test"});
  EXPECT_EQ(loop_->state()->key_generation("plane-0"), 2U);
  settle();
  EXPECT_EQ(holding(2), all());
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  EXPECT_EQ(loop_->state()->key_generation("plane-0"), 2U) << "the mode is another matter";
}

TEST_F(SubnetKeysTest, ADeviceThatWasSwitchedOffGetsItsKeyAgain) {
  start_keyed();
  settle();
  switches_->lock(first(), 0);
  step(61'000);
  settle();
  EXPECT_EQ(holding(1), all());
}

TEST_F(SubnetKeysTest, ALockedSwitchIsAlarmedAndNotSynced) {
  start_keyed();
  switches_->lock(first(), 0xbad);
  settle();
  EXPECT_EQ(alarms("keys.locked"), 1U);
  EXPECT_EQ(holding(1), all() - 1);
  EXPECT_NE(status()->phase, SubnetPhase::synced);
  switches_->lock(first(), 0);  // switched off and on
  for (int i = 0; i < 3; ++i) step(61'000);
  settle();
  EXPECT_EQ(alarms("keys.locked"), 0U);
  EXPECT_EQ(holding(1), all());
}

TEST_F(SubnetKeysTest, LeavingDirectModeGivesKeysBack) {
  start_keyed();
  settle();
  must(SetSubnetMode{"plane-0", SubnetMode::opensm, "", {}});
  settle();
  for (const auto sw : topology_->switches()) EXPECT_EQ(switches_->key_of(topology_->guid(sw)), 0U);
  EXPECT_FALSE(status()->discovery.keys);
  must(SetSubnetMode{"plane-0", SubnetMode::direct, "", {}});
  settle();
  EXPECT_EQ(holding(1), all());
}

TEST_F(SubnetKeysTest, OtherModesLeaveKeysAlone) {
  start_keyed(SubnetMode::observe);
  settle();
  EXPECT_EQ(holding(1), 0U);
  EXPECT_FALSE(status()->discovery.keys);
}

}  // namespace
}  // namespace railweave::control
