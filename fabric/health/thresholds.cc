#include "fabric/health/thresholds.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

namespace railweave::fabric::health {

Thresholds default_thresholds() {
  constexpr std::int64_t kMinuteUs = 60'000'000;
  const auto levels = [](AlarmLevel warning, AlarmLevel critical) {
    return std::array<std::optional<AlarmLevel>, 2>{warning, critical};
  };
  Thresholds out;
  // InfiniBand allows one bit error in 10^12 (IBA volume 2; NVIDIA DGX SuperPOD, "Cabling Data Centers", Bit Error
  // Rate): at 4x QDR's 32 Gb/s of data 115 an hour, from which the customary limit of 120. Faster links correct most of
  // theirs before they are counted, so that the same number is the graver sign there; it is not scaled with the rate.
  out[AlarmKind::symbolErrors] = {levels({120, 60}, {1200, 600}), 2, 0, 10 * kMinuteUs};
  // A good link retrains and goes down only when its cable or its ends are handled. Our own: the defaults of
  // ibqueryerrors (10 and 10, infiniband-diags' error_thresholds) are totals since a reset, not rates.
  out[AlarmKind::linkRecoveries] = {levels({1.5, 0.7}, {10, 5}), 1, 0, 30 * kMinuteUs};
  out[AlarmKind::linkDowned] = {levels({1.5, 0.7}, {5, 2.5}), 1, 0, 30 * kMinuteUs};
  // ibqueryerrors' 10, here within the error window.
  out[AlarmKind::receiveErrors] = {levels({10, 5}, {100, 50}), 2, 0, 10 * kMinuteUs};
  // Its 100 for both.
  out[AlarmKind::transmitDiscards] = {levels({100, 50}, {10'000, 5'000}), 2, 0, 10 * kMinuteUs};
  out[AlarmKind::vl15Dropped] = {levels({100, 50}, {1'000, 500}), 2, 0, 10 * kMinuteUs};
  // The usual band for planning capacity: an average above 60% is filling up, above 80% needs more links now; a quarter
  // of an hour is longer than one job's phase.
  out[AlarmKind::sustainedLoad] = {levels({0.60, 0.50}, {0.80, 0.70}), 3, 15 * kMinuteUs, 15 * kMinuteUs};
  // Every window of that time had an interval at the line's rate. No critical level: peaks alone break nothing.
  out[AlarmKind::peakLoad] = {{AlarmLevel{0.95, 0.85}, std::nullopt}, 3, 15 * kMinuteUs, 15 * kMinuteUs};
  // Our own, to be set by experience: ticks differ between devices.
  out[AlarmKind::transmitWait] = {levels({0.10, 0.05}, {0.40, 0.25}), 3, 5 * kMinuteUs, 10 * kMinuteUs};
  return out;
}

Result<void> check(const Thresholds& thresholds) {
  const auto wrong = [](std::size_t kind, const char* what) {
    return fail(ErrorKind::invalid, "health.thresholds", what, fmt::format("rule {}", kind));
  };
  for (std::size_t kind = 0; kind < kAlarmKinds; ++kind) {
    const AlarmRule& rule = thresholds.rules[kind];
    for (const auto& level : rule.levels) {
      if (level && !(level->clear_below < level->raise_at)) return wrong(kind, "clears at or above where it is raised");
    }
    if (rule.levels[0] && rule.levels[1] &&
        (rule.levels[1]->raise_at < rule.levels[0]->raise_at ||
         rule.levels[1]->clear_below < rule.levels[0]->clear_below)) {
      return wrong(kind, "the critical level is below the warning");
    }
    if (rule.hold_readings == 0 || rule.hold_us < 0 || rule.calm_us < 0) return wrong(kind, "a time or count too low");
  }
  if (thresholds.flap_memory_us < 0 || thresholds.max_calm_us < 0) {
    return fail(ErrorKind::invalid, "health.thresholds", "a negative time");
  }
  return {};
}

ErrorGrade grade_of(const std::array<float, kErrorCounters>& errors_per_hour, const Thresholds& thresholds) {
  constexpr float kOneInADay = 1.0F / 24;
  ErrorGrade worst = ErrorGrade::none;
  for (std::size_t kind = 0; kind < kErrorCounters; ++kind) {
    const float rate = errors_per_hour[kind];
    ErrorGrade grade = rate < kOneInADay ? ErrorGrade::none : ErrorGrade::some;
    const auto& levels = thresholds[alarm_of(static_cast<ErrorCounter>(kind))].levels;
    if (levels[0] && static_cast<double>(rate) >= levels[0]->raise_at) grade = ErrorGrade::warning;
    if (levels[1] && static_cast<double>(rate) >= levels[1]->raise_at) grade = ErrorGrade::critical;
    worst = std::max(worst, grade);
  }
  return worst;
}

}  // namespace railweave::fabric::health
