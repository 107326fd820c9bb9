// The values that are shipped, and what happens exactly at a limit: times and levels are promises to operators, and a test that
// computes with the same constants does not hold them.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/health/alarm_rules.h"
#include "fabric/health/counter_archive.h"
#include "fabric/health/counter_history.h"
#include "fabric/health/link_damping.h"
#include "fabric/health/link_flaps.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::health::boundaries_test {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr PortId kPort(7);
constexpr LinkId kLink(3);

struct Shipped {
  AlarmKind kind;
  std::vector<double> levels;  // raised at and cleared below, of the warning, then of the critical level
  unsigned readings;
  std::int64_t hold_minutes, calm_minutes;
};

TEST(ShippedThresholds, AreThese) {
  const std::vector<Shipped> all = {{AlarmKind::symbolErrors, {120, 60, 1200, 600}, 2, 0, 10},
                                    {AlarmKind::linkRecoveries, {1.5, 0.7, 10, 5}, 1, 0, 30},
                                    {AlarmKind::linkDowned, {1.5, 0.7, 5, 2.5}, 1, 0, 30},
                                    {AlarmKind::receiveErrors, {10, 5, 100, 50}, 2, 0, 10},
                                    {AlarmKind::transmitDiscards, {100, 50, 10'000, 5'000}, 2, 0, 10},
                                    {AlarmKind::vl15Dropped, {100, 50, 1'000, 500}, 2, 0, 10},
                                    {AlarmKind::sustainedLoad, {0.6, 0.5, 0.8, 0.7}, 3, 15, 15},
                                    {AlarmKind::peakLoad, {0.95, 0.85}, 3, 15, 15},
                                    {AlarmKind::transmitWait, {0.1, 0.05, 0.4, 0.25}, 3, 5, 10}};
  ASSERT_EQ(all.size(), kAlarmKinds);
  const Thresholds shipped = default_thresholds();
  for (const Shipped& one : all) {
    const AlarmRule& rule = shipped[one.kind];
    const auto at = static_cast<int>(one.kind);
    EXPECT_EQ(rule.hold_readings, one.readings) << at;
    EXPECT_EQ(rule.hold_us, one.hold_minutes * 60 * kSecond) << at;
    EXPECT_EQ(rule.calm_us, one.calm_minutes * 60 * kSecond) << at;
    ASSERT_TRUE(rule.levels[0]);
    EXPECT_EQ(rule.levels[0]->raise_at, one.levels[0]) << at;
    EXPECT_EQ(rule.levels[0]->clear_below, one.levels[1]) << at;
    ASSERT_EQ(rule.levels[1].has_value(), one.levels.size() == 4) << at;
    if (!rule.levels[1]) continue;
    EXPECT_EQ(rule.levels[1]->raise_at, one.levels[2]) << at;
    EXPECT_EQ(rule.levels[1]->clear_below, one.levels[3]) << at;
  }
  EXPECT_EQ(shipped.flap_memory_us, 3600 * kSecond);
  EXPECT_EQ(shipped.max_calm_us, 4 * 3600 * kSecond);
}

TEST(ShippedDamping, IsThis) {
  const DampingOptions shipped;
  EXPECT_TRUE(shipped.is_on);
  EXPECT_EQ(shipped.flaps, 4U);
  EXPECT_EQ(shipped.window_us, 600 * kSecond);
  EXPECT_EQ(shipped.hold_us, 600 * kSecond);
  EXPECT_EQ(shipped.share_percent, 25U);
  EXPECT_EQ(shipped.start_us, 60 * kSecond);
}

TEST(ThresholdsCheck, ALimitItselfIsAllowedOrNot) {
  const auto with = [](auto change) {
    Thresholds thresholds = default_thresholds();
    change(thresholds);
    return check(thresholds).has_value();
  };
  constexpr AlarmKind kKind = AlarmKind::symbolErrors;
  EXPECT_FALSE(with([](Thresholds& t) { t[kKind].levels[0]->clear_below = t[kKind].levels[0]->raise_at; }));
  EXPECT_TRUE(with([](Thresholds& t) { t[kKind].levels[1] = t[kKind].levels[0]; })) << "the same levels";
  EXPECT_FALSE(with([](Thresholds& t) { t[kKind].levels[1]->raise_at = 119; }));
  EXPECT_FALSE(with([](Thresholds& t) { t[kKind].levels[1]->clear_below = 59; }));
  EXPECT_FALSE(with([](Thresholds& t) { t[kKind].hold_readings = 0; }));
  EXPECT_TRUE(with([](Thresholds& t) { t[kKind].hold_readings = 1; }));
  EXPECT_TRUE(with([](Thresholds& t) { t[kKind].hold_us = t[kKind].calm_us = 0; }));
  EXPECT_FALSE(with([](Thresholds& t) { t[kKind].hold_us = -1; }));
  EXPECT_FALSE(with([](Thresholds& t) { t[kKind].calm_us = -1; }));
  EXPECT_TRUE(with([](Thresholds& t) { t.flap_memory_us = t.max_calm_us = 0; }));
  EXPECT_FALSE(with([](Thresholds& t) { t.flap_memory_us = -1; }));
  EXPECT_FALSE(with([](Thresholds& t) { t.max_calm_us = -1; }));
  Thresholds bad = default_thresholds();
  bad.rules[4].hold_us = -1;
  EXPECT_EQ(check(bad).error().location, "rule 4");
}

TEST(ErrorGrades, BeginAtTheirLimits) {
  const Thresholds shipped = default_thresholds();
  const auto grade = [&](AlarmKind kind, float rate) {
    std::array<float, kErrorCounters> rates{};
    rates[static_cast<std::size_t>(kind)] = rate;
    return grade_of(rates, shipped);
  };
  EXPECT_EQ(grade(AlarmKind::symbolErrors, 0), ErrorGrade::none);
  EXPECT_EQ(grade(AlarmKind::symbolErrors, 1.0F / 25), ErrorGrade::none);
  EXPECT_EQ(grade(AlarmKind::symbolErrors, 1.0F / 24), ErrorGrade::some);
  EXPECT_EQ(grade(AlarmKind::symbolErrors, 119), ErrorGrade::some);
  EXPECT_EQ(grade(AlarmKind::symbolErrors, 120), ErrorGrade::warning);
  EXPECT_EQ(grade(AlarmKind::symbolErrors, 1'200), ErrorGrade::critical);
  EXPECT_EQ(grade(AlarmKind::vl15Dropped, 1'000), ErrorGrade::critical) << "the last of them counts too";
  EXPECT_EQ(grade(AlarmKind::linkDowned, 1.5F), ErrorGrade::warning);
}

TEST(DampingCheck, ALimitItselfIsAllowed) {
  EXPECT_TRUE(check({.flaps = 1, .window_us = 1, .hold_us = 1, .share_percent = 100, .start_us = 0}));
  EXPECT_TRUE(check({.flaps = 100, .share_percent = 0}));
  EXPECT_FALSE(check({.flaps = 101}));
  EXPECT_FALSE(check({.start_us = -1}));
}

// A rule that raises at once and is calm after 10 s.
struct Line {
  explicit Line(std::int64_t flap_memory_us = 1'000 * kSecond, std::int64_t max_calm_us = 1'000 * kSecond)
      : rules(thresholds(flap_memory_us, max_calm_us)) {}
  static Thresholds thresholds(std::int64_t flap_memory_us, std::int64_t max_calm_us) {
    Thresholds out;
    out[AlarmKind::symbolErrors] = {{AlarmLevel{10, 8}, std::nullopt}, 1, 0, 10 * kSecond};
    out.flap_memory_us = flap_memory_us;
    out.max_calm_us = max_calm_us;
    return out;
  }
  bool changes_at(std::int64_t second, double value) {
    std::vector<AlarmChange> now;
    rules.judge(AlarmKind::symbolErrors, kPort, kLink, value, second * kSecond, now);
    return !now.empty();
  }
  AlarmRules rules;
};

TEST(AlarmLimits, CalmMayBeginAtTimeZero) {
  Line line;
  ASSERT_TRUE(line.changes_at(-1, 10)) << "at the level, not only above it";
  EXPECT_FALSE(line.changes_at(0, 0));
  EXPECT_FALSE(line.changes_at(5, 0));
  EXPECT_TRUE(line.changes_at(10, 0));
}

TEST(AlarmLimits, AtTheLowerLevelItIsNotCalm) {
  Line line;
  ASSERT_TRUE(line.changes_at(0, 10));
  for (int second = 1; second < 100; ++second) ASSERT_FALSE(line.changes_at(second, 8)) << second;
}

// How long each of the first alarms, which come back at once, had to be calm.
std::vector<std::int64_t> calm_times(Line& line, std::size_t count) {
  std::vector<std::int64_t> times;
  std::int64_t now = 0;
  while (times.size() < count) {
    EXPECT_TRUE(line.changes_at(now, 20));
    const std::int64_t calm_since = ++now;
    while (!line.changes_at(now, 0)) ++now;
    times.push_back(now - calm_since);
    ++now;
  }
  return times;
}

TEST(AlarmLimits, TheCalmThatIsNeededDoublesUpToTheMost) {
  Line line(1'000 * kSecond, 50 * kSecond);
  EXPECT_THAT(calm_times(line, 5), ::testing::ElementsAre(10, 20, 40, 50, 50));
  Line never_longer(1'000 * kSecond, 0);
  EXPECT_THAT(calm_times(never_longer, 3), ::testing::ElementsAre(10, 10, 10)) << "nor shorter than the rule's own";
  Line of_one(1'000 * kSecond, 10 * kSecond);
  EXPECT_THAT(calm_times(of_one, 3), ::testing::ElementsAre(10, 10, 10));
}

TEST(AlarmLimits, AFlapIsRememberedForExactlyItsTime) {
  for (const auto& [back_at, calm] : {std::pair{111, 20}, std::pair{112, 10}}) {
    Line line(100 * kSecond);
    ASSERT_TRUE(line.changes_at(0, 20));
    ASSERT_FALSE(line.changes_at(1, 0));
    ASSERT_TRUE(line.changes_at(11, 0)) << "cleared";
    EXPECT_EQ(line.rules.states(), 1U);
    ASSERT_TRUE(line.changes_at(back_at, 20));
    ASSERT_FALSE(line.changes_at(back_at + 1, 0));
    EXPECT_FALSE(line.changes_at(back_at + calm, 0)) << back_at;
    EXPECT_TRUE(line.changes_at(back_at + 1 + calm, 0)) << back_at;
  }
}

TEST(ArchiveLimits, MemoryThatIsJustEnoughKeepsEverySlot) {
  const ArchiveOptions options{.slot_us = {60 * kSecond, 900 * kSecond}, .slots = {60, 96}};
  const std::size_t needed = CounterArchive(10, options).memory_bytes();
  ArchiveOptions exact = options;
  exact.max_bytes = needed;
  CounterArchive enough(10, exact);
  EXPECT_EQ(enough.range(0, ArchiveRing::fine, 0).slots.size(), 60U);
  EXPECT_EQ(enough.range(0, ArchiveRing::coarse, 0).slots.size(), 96U);
  exact.max_bytes = needed - 1;
  CounterArchive less(10, exact);
  EXPECT_LT(less.range(0, ArchiveRing::coarse, 0).slots.size(), 96U);
  EXPECT_LE(less.memory_bytes(), needed - 1);
  exact.max_bytes = 0;
  EXPECT_EQ(CounterArchive(10, exact).memory_bytes(), 0U);
}

TEST(ArchiveLimits, CountsAreExactUpTo32AndRoundedToTheNearestAbove) {
  for (const auto& [counted, shown] :
       {std::pair{15U, 15U}, std::pair{16U, 16U}, std::pair{31U, 31U}, std::pair{32U, 32U}, std::pair{33U, 34U},
        std::pair{35U, 36U}, std::pair{63U, 64U}, std::pair{1000U, 992U}}) {
    CounterArchive archive(1, {});
    archive.add(0, {.from_us = 0, .to_us = 10 * kSecond, .errors = {counted}});
    EXPECT_EQ(archive.at(0, 0, 20 * kSecond).errors[0], shown);
  }
}

// Two switches with as many cables between them.
Topology two_switches(unsigned cables) {
  TopologyBuilder builder;
  const auto a = builder.add_switch({.guid = Guid(0x1), .name = "a", .ports = cables});
  const auto b = builder.add_switch({.guid = Guid(0x2), .name = "b", .ports = cables});
  for (unsigned p = 1; p <= cables; ++p) builder.connect({a, p}, {b, p}, infiniband_link(4, LinkSpeed::ndr));
  return *std::move(builder).build();
}

TEST(HistoryLimits, OneSaturatedCounterIsEnough) {
  const Topology t = two_switches(1);
  CounterHistory history(t, {});
  const PortId port = t.a(t.links()[0]);
  PortCounts counts;
  counts.wide = true;
  counts.wait_known = true;
  ASSERT_EQ(history.take(port, counts, 0), CounterHistory::Taken::first);
  ASSERT_EQ(history.take(port, counts, 10 * kSecond), CounterHistory::Taken::rated);
  EXPECT_FALSE(history.rates(port).saturated);
  counts.transmit_wait = PortCounts::kMaxWaitTicks;
  ASSERT_EQ(history.take(port, counts, 20 * kSecond), CounterHistory::Taken::rated);
  EXPECT_TRUE(history.rates(port).saturated) << "the waiting alone";
  EXPECT_EQ(history.take(port, counts, 20 * kSecond), CounterHistory::Taken::outdated) << "the same time again";
}

TEST(FlapLimits, EveryLinkCountsTheFirstToo) {
  const Topology t = two_switches(16);
  const std::vector<LinkId> links(t.links().begin(), t.links().end());
  for (std::size_t which = 0; which < links.size(); ++which) {
    LinkFlaps flaps(t, links, 60 * kSecond);
    std::vector<bool> up(links.size(), true);
    EXPECT_THAT(flaps.see(up, 0).flapped, ::testing::IsEmpty());
    up[which] = false;
    EXPECT_THAT(flaps.see(up, kSecond).flapped, ::testing::IsEmpty());
    up[which] = true;
    const auto seen = flaps.see(up, 2 * kSecond);
    EXPECT_THAT(seen.flapped, ::testing::ElementsAre(links[which]));
    EXPECT_THAT(seen.restarted, ::testing::IsEmpty());
  }
}

TEST(FlapLimits, AnEighthOfTheCablesIsStillDark) {
  const Topology t = two_switches(16);
  const std::vector<LinkId> links(t.links().begin(), t.links().end());
  for (const auto& [left_up, restarts] : {std::pair{2U, true}, std::pair{3U, false}}) {
    LinkFlaps flaps(t, links, 60 * kSecond);
    std::vector<bool> up(links.size(), true);
    (void)flaps.see(up, 0);
    for (std::size_t i = left_up; i < up.size(); ++i) up[i] = false;
    (void)flaps.see(up, kSecond);
    const auto seen = flaps.see(std::vector<bool>(links.size(), true), 61 * kSecond);
    EXPECT_EQ(!seen.restarted.empty(), restarts) << left_up;
    EXPECT_EQ(seen.flapped.empty(), restarts) << left_up;
  }
}

}  // namespace
}  // namespace railweave::fabric::health::boundaries_test
