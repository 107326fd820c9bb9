// Alarms of ports by thresholds: reported once when one is raised, when its severity changes and when it is cleared. No
// clock, see counter_history.h. State is kept only for ports that are or were near a threshold: at most one per kind
// and port. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "fabric/health/counter_history.h"
#include "fabric/health/thresholds.h"

namespace railweave::fabric::health {

struct Alarm {
  AlarmKind kind = AlarmKind::symbolErrors;
  PortId port;
  LinkId link;  // the port's; none: no cable
  AlarmSeverity severity = AlarmSeverity::warning;
  double value = 0, limit = 0;  // when it changed, and the level that it reached or fell below
  std::int64_t since_us = 0;    // when the value reached the level of this severity, before it had held
};

struct AlarmChange {
  enum class What : std::uint8_t {
    raise,  // also of an alarm that was raised: its severity is now this
    clear,
  };
  What what = What::raise;
  Alarm alarm;
  std::int64_t at_us = 0;
};

class AlarmRules {
 public:
  explicit AlarmRules(const Thresholds& thresholds = default_thresholds());  // that check() accepts

  // Evaluates a reading of a port. Appends to changes.
  void judge(PortId port, LinkId link, const PortTrend& trend, std::int64_t at_us, std::vector<AlarmChange>& changes);
  void judge(AlarmKind kind, PortId port, LinkId link, double value, std::int64_t at_us,
             std::vector<AlarmChange>& changes);
  // The port is no longer watched: its alarms are cleared.
  void forget(PortId port, std::int64_t at_us, std::vector<AlarmChange>& changes);

  [[nodiscard]] std::vector<Alarm> raised() const;  // by kind and port
  [[nodiscard]] std::size_t states() const { return states_.size(); }

 private:
  struct Level {
    bool active = false;
    std::uint32_t readings = 0;       // in a row, at the level or above
    std::int64_t since_us = 0;        // when the first of them was
    std::int64_t calm_since_us = -1;  // below 0: is not calm
  };
  struct State {
    std::array<Level, 2> levels;  // by AlarmSeverity
    Alarm alarm;                  // as last reported
    bool raised = false;
    std::uint32_t raises = 0;  // in a row, each soon after the clear before
    std::int64_t cleared_us = -1;
  };
  static std::uint64_t key(AlarmKind kind, PortId port) {
    return static_cast<std::uint64_t>(kind) << 32U | port.value();
  }
  void step(Level& level, const AlarmLevel& limits, const AlarmRule& rule, const State& state, double value,
            std::int64_t at_us) const;
  [[nodiscard]] std::int64_t calm_needed(const AlarmRule& rule, const State& state) const;

  const Thresholds thresholds_;
  std::unordered_map<std::uint64_t, State> states_;
};

}  // namespace railweave::fabric::health
