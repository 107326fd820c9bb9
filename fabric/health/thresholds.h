// The values at which port counters raise alarms, and for how long they must hold. Each kind of alarm has a warning and
// a critical level, with hysteresis: raised at one value, cleared below a lower one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/topology/port_counts.h"

namespace railweave::fabric::health {

enum class AlarmKind : std::uint8_t {
  symbolErrors,      // per hour, as all error counters; in the order of ErrorCounter
  linkRecoveries,    //
  linkDowned,        //
  receiveErrors,     //
  transmitDiscards,  //
  vl15Dropped,       //
  sustainedLoad,     // average utilisation of what the port transmits, 0 to 1
  peakLoad,          // highest utilisation within the window, 0 to 1
  transmitWait,      // average part of the time without credit, 0 to 1
};
inline constexpr std::size_t kAlarmKinds = kErrorCounters + 3;
constexpr AlarmKind alarm_of(ErrorCounter counter) { return static_cast<AlarmKind>(counter); }

enum class AlarmSeverity : std::uint8_t { warning, critical };

struct AlarmLevel {
  double raise_at = 0;     // or more
  double clear_below = 0;  // less than raise_at
};

struct AlarmRule {
  std::array<std::optional<AlarmLevel>, 2> levels;  // by AlarmSeverity; none: never
  unsigned hold_readings = 1;                       // readings in a row, and
  std::int64_t hold_us = 0;                         // time that the value must hold before it is raised
  std::int64_t calm_us = 600'000'000;               // time below the lower value before it is cleared
};

struct Thresholds {
  std::array<AlarmRule, kAlarmKinds> rules;  // by AlarmKind
  // An alarm that comes back within this time after it was cleared needs twice the calm each time, up to max_calm_us.
  std::int64_t flap_memory_us = 3'600'000'000;
  std::int64_t max_calm_us = 4 * 3'600'000'000LL;

  AlarmRule& operator[](AlarmKind kind) { return rules[static_cast<std::size_t>(kind)]; }
  const AlarmRule& operator[](AlarmKind kind) const { return rules[static_cast<std::size_t>(kind)]; }
};

// Documented in thresholds.cc, each with where it comes from.
Thresholds default_thresholds();
// "health.thresholds": a level that clears at or above where it is raised, a critical level below the warning, a
// negative time.
Result<void> check(const Thresholds& thresholds);

// How bad error rates are: the worst kind of them, by the levels that raise alarms.
enum class ErrorGrade : std::uint8_t {
  none,  // less than one in a day
  some,  // below every level
  warning,
  critical,
};
constexpr std::string_view to_string(ErrorGrade grade) {
  constexpr std::string_view names[] = {"none", "some", "warning", "critical"};
  return names[static_cast<std::size_t>(grade)];
}
ErrorGrade grade_of(const std::array<float, kErrorCounters>& errors_per_hour, const Thresholds& thresholds);

}  // namespace railweave::fabric::health
