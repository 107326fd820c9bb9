#include "fabric/health/link_damping.h"

#include <cmath>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railweave::fabric::health {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr LinkId kLink(2);

TEST(LinkDamping, AFlapNowAndThenIsNotSuppressedAndManyAre) {
  LinkDamping damping(5);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(damping.flap(kLink, i * 600 * kSecond)) << "every 10 minutes";
  LinkDamping fast(5);
  EXPECT_FALSE(fast.flap(kLink, 0));
  EXPECT_FALSE(fast.flap(kLink, 10 * kSecond));
  EXPECT_TRUE(fast.flap(kLink, 20 * kSecond));
  EXPECT_TRUE(fast.suppressed(kLink, 21 * kSecond));
  EXPECT_FALSE(fast.suppressed(LinkId(1), 21 * kSecond));
  EXPECT_EQ(fast.suppressed_count(21 * kSecond), 1U);
  // About 2930 halves twice to below 750 in 2 half-lives of 5 minutes.
  EXPECT_NEAR(static_cast<double>(fast.reusable_at_us(kLink)) / 1e6, 20 + 590, 15);
  EXPECT_THAT(fast.take_reusable(600 * kSecond), testing::IsEmpty());
  EXPECT_THAT(fast.take_reusable(640 * kSecond), testing::ElementsAre(kLink));
  EXPECT_THAT(fast.take_reusable(640 * kSecond), testing::IsEmpty()) << "told once";
}

TEST(LinkDamping, HoweverOftenItFlapsItComesBackInBoundedTime) {
  LinkDamping damping(5);
  for (int i = 0; i < 10'000; ++i) damping.flap(kLink, i * kSecond);
  EXPECT_TRUE(damping.suppressed(kLink, 10'000 * kSecond));
  const std::int64_t last = 9'999 * kSecond;
  EXPECT_LE(damping.reusable_at_us(kLink), last + 1'800 * kSecond + 1);
  EXPECT_GE(damping.reusable_at_us(kLink), last + 1'790 * kSecond);
}

TEST(LinkDamping, AForgottenLinkIsUsedAtOnce) {
  LinkDamping damping(5);
  for (int i = 0; i < 5; ++i) damping.flap(kLink, i * kSecond);
  damping.forget(kLink);
  EXPECT_FALSE(damping.suppressed(kLink, 6 * kSecond));
  EXPECT_THAT(damping.take_reusable(6 * kSecond), testing::ElementsAre(kLink));
  EXPECT_FALSE(damping.flap(kLink, 7 * kSecond)) << "a clean record";
}

TEST(LinkDamping, OptionsAreChecked) {
  EXPECT_TRUE(check(DampingOptions{}));
  EXPECT_FALSE(check(DampingOptions{.reuse_below = 3000}));
  EXPECT_FALSE(check(DampingOptions{.half_life_us = 0}));
  EXPECT_FALSE(check(DampingOptions{.max_suppress_us = 1}));
  EXPECT_EQ(check(DampingOptions{.penalty = -1}).error().code, "health.damping");
}

// Walks all flaps of a link from the first to the time asked for, second by second.
struct Oracle {
  DampingOptions options;
  std::vector<std::int64_t> flaps;  // seconds

  [[nodiscard]] bool suppressed(std::int64_t now) const {
    const double per_second = std::pow(0.5, 1e6 / static_cast<double>(options.half_life_us));
    const double ceiling = options.reuse_below * std::pow(2.0, static_cast<double>(options.max_suppress_us) /
                                                                   static_cast<double>(options.half_life_us));
    double penalty = 0;
    bool held = false;
    std::size_t next = 0;
    for (std::int64_t second = 0; second <= now; ++second) {
      if (second > 0) penalty *= per_second;
      if (held && penalty < options.reuse_below) held = false;
      for (; next < flaps.size() && flaps[next] == second; ++next) {
        penalty = std::min(penalty + options.penalty, ceiling);
        if (penalty >= options.suppress_at) held = true;
      }
    }
    return held;
  }
};

class DampingSequence : public testing::TestWithParam<std::uint32_t> {};

TEST_P(DampingSequence, SuppressesWhatTheWholeHistorySuppresses) {
  std::mt19937 random(GetParam());
  DampingOptions options;
  // Odd numbers, so that no decay ends at a whole second.
  options.penalty = 900.123 + random() % 500;
  options.half_life_us = static_cast<std::int64_t>(20 + random() % 100) * kSecond + 1237;
  options.max_suppress_us = options.half_life_us * static_cast<std::int64_t>(2 + random() % 4);
  ASSERT_TRUE(check(options));
  std::array<Oracle, 3> oracles;
  oracles.fill({options, {}});
  LinkDamping damping(oracles.size(), options);
  std::set<LinkId> held;
  std::size_t ever = 0;
  for (std::int64_t second = 0; second < 2500; ++second) {
    for (std::size_t i = 0; i < oracles.size(); ++i) {
      const bool busy = second / (200 + 50 * static_cast<std::int64_t>(i)) % 2 == 0;
      if (random() % (busy ? 15 : 200) != 0) continue;
      oracles[i].flaps.push_back(second);
      damping.flap(LinkId(i), second * kSecond);
    }
    if (second % 7 != 0) continue;
    for (const LinkId link : damping.take_reusable(second * kSecond)) held.erase(link);
    for (std::size_t i = 0; i < oracles.size(); ++i) {
      const bool expected = oracles[i].suppressed(second);
      ASSERT_EQ(damping.suppressed(LinkId(i), second * kSecond), expected) << "link " << i << " at " << second;
      if (expected) held.insert(LinkId(i)), ++ever;
    }
    ASSERT_EQ(held.size(), damping.suppressed_count(second * kSecond)) << "links that became reusable were returned";
  }
  EXPECT_GT(ever, 20U);
}
INSTANTIATE_TEST_SUITE_P(Seeds, DampingSequence, testing::Range(0U, 20U));

}  // namespace
}  // namespace railweave::fabric::health
