#include "fabric/health/alarm_rules.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railweave::fabric::health::alarm_rules_test {
namespace {

using What = AlarmChange::What;
constexpr std::int64_t kSecond = 1'000'000;
constexpr PortId kPort(7);
constexpr LinkId kLink(3);

// One rule, warning at 10 (8), critical at 20 (16), 2 readings and 5 s, calm 30 s.
Thresholds one_rule() {
  Thresholds out;
  out[AlarmKind::symbolErrors] = {{AlarmLevel{10, 8}, AlarmLevel{20, 16}}, 2, 5 * kSecond, 30 * kSecond};
  out.flap_memory_us = 100 * kSecond;
  out.max_calm_us = 200 * kSecond;
  return out;
}

struct Line {
  explicit Line(const Thresholds& thresholds = one_rule()) : rules(thresholds) {}
  AlarmRules rules;
  std::vector<AlarmChange> changes;
  std::vector<AlarmChange> at(std::int64_t second, double value) {
    std::vector<AlarmChange> now;
    rules.judge(AlarmKind::symbolErrors, kPort, kLink, value, second * kSecond, now);
    changes.insert(changes.end(), now.begin(), now.end());
    return now;
  }
};

TEST(AlarmRules, AreRaisedAfterHoldingAndClearedAfterCalm) {
  Line line;
  EXPECT_TRUE(line.at(0, 12).empty());
  EXPECT_TRUE(line.at(3, 12).empty()) << "two readings, not yet 5 s";
  const auto raised = line.at(6, 13);
  ASSERT_EQ(raised.size(), 1U);
  EXPECT_EQ(raised[0].what, What::raise);
  EXPECT_EQ(raised[0].alarm.severity, AlarmSeverity::warning);
  EXPECT_EQ(raised[0].alarm.port, kPort);
  EXPECT_EQ(raised[0].alarm.link, kLink);
  EXPECT_EQ(raised[0].alarm.value, 13);
  EXPECT_EQ(raised[0].alarm.limit, 10);
  EXPECT_EQ(raised[0].alarm.since_us, 0);
  EXPECT_EQ(raised[0].at_us, 6 * kSecond);
  EXPECT_EQ(line.rules.raised().size(), 1U);
  EXPECT_TRUE(line.at(10, 9).empty()) << "between the two limits";
  EXPECT_TRUE(line.at(20, 7).empty());
  EXPECT_TRUE(line.at(40, 9).empty()) << "not calm";
  EXPECT_TRUE(line.at(50, 7).empty());
  EXPECT_TRUE(line.at(79, 0).empty());
  const auto cleared = line.at(80, 1);
  ASSERT_EQ(cleared.size(), 1U);
  EXPECT_EQ(cleared[0].what, What::clear);
  EXPECT_EQ(cleared[0].alarm.limit, 8);
  EXPECT_EQ(cleared[0].alarm.since_us, 0);
  EXPECT_TRUE(line.rules.raised().empty());
  EXPECT_EQ(line.rules.states(), 1U) << "remembered, should it come back";
  line.at(181, 0);
  EXPECT_EQ(line.rules.states(), 0U);
}

TEST(AlarmRules, AShortExcessIsNoAlarm) {
  Line line;
  for (int second = 0; second < 1000; second += 4) line.at(second, second % 8 == 0 ? 100 : 0);
  EXPECT_TRUE(line.changes.empty());
  EXPECT_EQ(line.rules.states(), 0U);
}

TEST(AlarmRules, SeverityRisesAndFalls) {
  Line line;
  line.at(0, 25);
  auto change = line.at(5, 25);
  ASSERT_EQ(change.size(), 1U);
  EXPECT_EQ(change[0].alarm.severity, AlarmSeverity::critical);
  line.at(10, 12);
  change = line.at(40, 12);
  ASSERT_EQ(change.size(), 1U);
  EXPECT_EQ(change[0].what, What::raise);
  EXPECT_EQ(change[0].alarm.severity, AlarmSeverity::warning);
  EXPECT_EQ(line.rules.raised().size(), 1U);
}

TEST(AlarmRules, AnAlarmThatFlapsIsNotRaisedAgainAndAgain) {
  // 40 s too high, 40 s quiet, for an hour: without memory 45 alarms.
  Line line;
  int raised = 0;
  for (int second = 0; second < 3600; second += 2) {
    for (const auto& change : line.at(second, second % 80 < 40 ? 15 : 0)) raised += change.what == What::raise ? 1 : 0;
  }
  EXPECT_EQ(raised, 2) << "the second one stays until it is calm for twice as long";
  EXPECT_EQ(line.rules.raised().size(), 1U);
}

TEST(AlarmRules, ForgottenPortsAreCleared) {
  Line line;
  line.at(0, 15);
  line.at(10, 15);
  std::vector<AlarmChange> changes;
  line.rules.forget(kPort, 11 * kSecond, changes);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].what, What::clear);
  EXPECT_EQ(line.rules.states(), 0U);
}

TEST(AlarmRules, DefaultsAreConsistentAndOthersAreChecked) {
  EXPECT_TRUE(check(default_thresholds()));
  Thresholds bad = default_thresholds();
  bad[AlarmKind::peakLoad].levels[0]->clear_below = 2;
  EXPECT_EQ(check(bad).error().code, "health.thresholds");
  bad = default_thresholds();
  bad[AlarmKind::sustainedLoad].levels[1] = AlarmLevel{0.3, 0.2};
  EXPECT_FALSE(check(bad));
}

TEST(AlarmRules, SustainedLoadNamesTheLinkThatNeedsCapacity) {
  AlarmRules rules;
  std::vector<AlarmChange> changes;
  for (std::int64_t minute = 0; minute <= 30; ++minute) {
    rules.judge(kPort, kLink, {.transmit_average = 0.7F, .transmit_peak = 1.0F}, minute * 60 * kSecond, changes);
    rules.judge(PortId(8), LinkId(4), {.transmit_average = 0.5F, .transmit_peak = minute % 9 == 0 ? 1.0F : 0.7F},
                minute * 60 * kSecond, changes);
  }
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].alarm.kind, AlarmKind::sustainedLoad);
  EXPECT_EQ(changes[0].alarm.severity, AlarmSeverity::warning);
  EXPECT_EQ(changes[1].alarm.kind, AlarmKind::peakLoad);
  for (const auto& change : changes) {
    EXPECT_EQ(change.alarm.link, kLink);
    EXPECT_EQ(change.at_us, 15 * 60 * kSecond);
  }
}

// The state of one level now, by looking back over everything that was ever read, without the memory of flaps.
bool active_by_history(const std::vector<std::pair<std::int64_t, double>>& read, const AlarmLevel& level,
                       const AlarmRule& rule) {
  bool active = false;
  std::size_t changed = 0;  // runs count from the reading after the last change
  for (std::size_t i = 0; i < read.size(); ++i) {
    std::size_t run = i + 1;
    const auto holds = [&](double value) { return active ? value < level.clear_below : value >= level.raise_at; };
    while (run > changed && holds(read[run - 1].second)) --run;
    if (run > i) continue;
    const std::int64_t lasted = read[i].first - read[run].first;
    const bool turns = active ? lasted >= rule.calm_us : i - run + 1 >= rule.hold_readings && lasted >= rule.hold_us;
    if (!turns) continue;
    active = !active;
    changed = i + 1;
  }
  return active;
}

class AlarmSequence : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(AlarmSequence, RaisesWhatTheWholeHistoryRaises) {
  std::mt19937 random(GetParam());
  Thresholds thresholds = one_rule();
  AlarmRule& rule = thresholds[AlarmKind::symbolErrors];
  rule.hold_readings = 1 + random() % 4;
  rule.hold_us = random() % 20 * kSecond;
  rule.calm_us = random() % 40 * kSecond;
  thresholds.max_calm_us = 0;  // no longer calm for flaps
  Line line(thresholds);
  std::vector<std::pair<std::int64_t, double>> read;
  std::int64_t second = 0;
  double value = 0;
  bool raised = false;
  AlarmSeverity severity = AlarmSeverity::warning;
  for (int i = 0; i < 400; ++i) {
    second += 1 + random() % 6;
    value = random() % 4 == 0 ? random() % 30 : std::max(0.0, value + static_cast<double>(random() % 9) - 4);
    read.emplace_back(second * kSecond, value);
    const auto changes = line.at(second, value);
    const bool warning = active_by_history(read, *rule.levels[0], rule);
    const bool critical = active_by_history(read, *rule.levels[1], rule);
    ASSERT_LE(changes.size(), 1U);
    const bool was_raised = raised;
    const AlarmSeverity was = severity;
    raised = warning || critical;
    if (raised) severity = critical ? AlarmSeverity::critical : AlarmSeverity::warning;
    ASSERT_EQ(line.rules.raised().size(), raised ? 1U : 0U) << i;
    const bool differs = raised != was_raised || (raised && severity != was);
    ASSERT_EQ(!changes.empty(), differs) << i;
    if (differs) {
      ASSERT_EQ(changes[0].what, raised ? What::raise : What::clear);
      ASSERT_EQ(changes[0].alarm.severity, severity);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, AlarmSequence, ::testing::Range(0U, 40U));

}  // namespace
}  // namespace railweave::fabric::health::alarm_rules_test
