#include "fabric/health/link_damping.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railweave::fabric::health::link_damping_test {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr LinkId kLink(2);

TEST(LinkDamping, AFlapNowAndThenIsNoneThatFlapsAndManyAre) {
  LinkDamping damping(DampingOptions{});
  for (int i = 0; i < 20; ++i) damping.flap(kLink, i * 300 * kSecond);
  EXPECT_THAT(damping.flapping(20 * 300 * kSecond), ::testing::IsEmpty()) << "every 5 minutes";
  LinkDamping fast(DampingOptions{});
  for (int i = 0; i < 3; ++i) fast.flap(kLink, i * 10 * kSecond);
  EXPECT_THAT(fast.flapping(30 * kSecond), ::testing::IsEmpty());
  fast.flap(kLink, 30 * kSecond);
  const Flapping<LinkId> expected{kLink, 30 * kSecond, 630 * kSecond, 4};
  EXPECT_THAT(fast.flapping(30 * kSecond), ::testing::ElementsAre(expected));
  EXPECT_THAT(fast.flapping(629 * kSecond), ::testing::ElementsAre(expected));
  EXPECT_THAT(fast.flapping(630 * kSecond), ::testing::IsEmpty());
}

TEST(LinkDamping, HoweverOftenItFlapsItIsCalmTheHoldTimeAfterTheLast) {
  LinkDamping damping(DampingOptions{});
  for (int i = 0; i < 10'000; ++i) damping.flap(kLink, i * kSecond);
  const auto now = damping.flapping(10'000 * kSecond);
  ASSERT_EQ(now.size(), 1U);
  EXPECT_EQ(now[0].until_us, (9'999 + 600) * kSecond);
  EXPECT_EQ(now[0].since_us, 3 * kSecond);
  EXPECT_EQ(now[0].flaps, 10'000U);
}

TEST(LinkDamping, AForgottenLinkHasACleanRecord) {
  LinkDamping damping(DampingOptions{});
  for (int i = 0; i < 5; ++i) damping.flap(kLink, i * kSecond);
  damping.forget(kLink);
  EXPECT_THAT(damping.flapping(6 * kSecond), ::testing::IsEmpty());
  for (int i = 0; i < 3; ++i) damping.flap(kLink, (7 + i) * kSecond);
  EXPECT_THAT(damping.flapping(10 * kSecond), ::testing::IsEmpty());
}

TEST(LinkDamping, OptionsAreChecked) {
  EXPECT_TRUE(check(DampingOptions{}));
  EXPECT_FALSE(check(DampingOptions{.flaps = 0}));
  EXPECT_FALSE(check(DampingOptions{.window_us = 0}));
  EXPECT_FALSE(check(DampingOptions{.share_percent = 101}));
  EXPECT_EQ(check(DampingOptions{.hold_us = 0}).error().code, "health.damping");
}

// All flaps of a link, walked from the first to the time asked for.
struct Oracle {
  std::int64_t window, hold;
  unsigned count;
  std::vector<std::int64_t> flaps;  // seconds

  [[nodiscard]] bool flapping(std::int64_t now) const {
    std::int64_t until = -1;
    for (std::size_t i = 0; i < flaps.size() && flaps[i] <= now; ++i) {
      if (until >= 0 && flaps[i] < until) {
        until = flaps[i] + hold;
        continue;
      }
      const auto recent = std::ranges::count_if(flaps.begin(), flaps.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                                [&](std::int64_t at) { return flaps[i] - at < window; });
      if (recent >= static_cast<std::ptrdiff_t>(count)) until = flaps[i] + hold;
    }
    return now < until;
  }
};

TEST(LinkDamping, RandomFlapsEqualAWalkOverAllOfThem) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto number = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
    const DampingOptions options{.flaps = static_cast<unsigned>(number(1, 6)),
                                 .window_us = number(5, 120) * kSecond,
                                 .hold_us = number(5, 120) * kSecond};
    LinkDamping damping(options);
    std::vector<Oracle> oracles(4, Oracle{options.window_us / kSecond, options.hold_us / kSecond, options.flaps, {}});
    for (std::int64_t second = 0; second < 900; ++second) {
      const auto flapped = static_cast<std::size_t>(number(0, 30));
      if (flapped < oracles.size()) {
        damping.flap(LinkId(flapped), second * kSecond);
        oracles[flapped].flaps.push_back(second);
      }
      std::vector<bool> now(oracles.size());
      for (const auto& one : damping.flapping(second * kSecond)) now[one.id.index()] = true;
      for (std::size_t i = 0; i < oracles.size(); ++i) {
        ASSERT_EQ(now[i], oracles[i].flapping(second)) << "seed " << seed << ", link " << i << " at " << second;
      }
    }
  }
}

}  // namespace
}  // namespace railweave::fabric::health::link_damping_test
