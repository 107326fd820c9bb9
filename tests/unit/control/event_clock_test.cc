// The time of events never goes back, and durations are never negative.
#include "services/control/event_clock.h"

#include <gtest/gtest.h>

namespace railweave::control::event_clock_test {
namespace {

constexpr std::int64_t kHour_us = 3'600'000'000;

struct TwoClocks {
  std::int64_t wall_us = 1'700'000'000'000'000, steady_us = 5'000'000;
  EventClock clock{[this] { return wall_us; }, [this] { return steady_us; }};

  void pass(std::int64_t us) {
    wall_us += us;
    steady_us += us;
  }
};

TEST(EventClock, IsTheWallClockWhereThatGoesOn) {
  TwoClocks two;
  EXPECT_EQ(two.clock.now_us(), two.wall_us);
  two.pass(3);
  EXPECT_EQ(two.clock.now_us(), two.wall_us);
  two.wall_us += kHour_us;  // set forward
  EXPECT_EQ(two.clock.now_us(), two.wall_us);
}

TEST(EventClock, GoesOnWhereTheWallClockIsSetBack) {
  TwoClocks two;
  const std::int64_t began_us = two.clock.now_us();
  two.wall_us -= 2 * kHour_us;
  EXPECT_EQ(two.clock.now_us(), began_us);
  std::int64_t last_us = began_us;
  for (int i = 0; i < 1000; ++i) {  // single microseconds count too
    two.pass(1);
    const std::int64_t now_us = two.clock.now_us();
    EXPECT_GE(now_us, last_us);
    last_us = now_us;
  }
  EXPECT_EQ(last_us - began_us, 500);
  two.pass(kHour_us - 1000);
  EXPECT_EQ(two.clock.now_us() - began_us, kHour_us / 2) << "an hour lasts at least half of one";
  two.pass(4 * kHour_us);
  EXPECT_EQ(two.clock.now_us(), two.wall_us) << "it has caught up";
}

TEST(EventClock, IsNotBeforeEventsOfOthers) {
  TwoClocks two;
  two.clock.not_before(two.wall_us + kHour_us);
  EXPECT_EQ(two.clock.now_us(), two.wall_us + kHour_us);
  two.clock.not_before(two.wall_us);
  EXPECT_EQ(two.clock.now_us(), two.wall_us + kHour_us);
}

}  // namespace
}  // namespace railweave::control::event_clock_test
