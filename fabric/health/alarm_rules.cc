#include "fabric/health/alarm_rules.h"

#include <algorithm>

#include "fabric/base/check.h"

namespace railweave::fabric::health {

namespace {

constexpr std::size_t kCritical = static_cast<std::size_t>(AlarmSeverity::critical);

}  // namespace

AlarmRules::AlarmRules(const Thresholds& thresholds) : thresholds_(thresholds) {
  RAILWEAVE_CHECK(check(thresholds).has_value(), "thresholds were checked");
}

void AlarmRules::judge(PortId port, LinkId link, const PortTrend& trend, std::int64_t at_us,
                       std::vector<AlarmChange>& changes) {
  for (std::size_t i = 0; i < kErrorCounters; ++i) {
    judge(alarm_of(static_cast<ErrorCounter>(i)), port, link, trend.errors_per_hour[i], at_us, changes);
  }
  judge(AlarmKind::sustainedLoad, port, link, trend.transmit_average, at_us, changes);
  judge(AlarmKind::peakLoad, port, link, trend.transmit_peak, at_us, changes);
  judge(AlarmKind::transmitWait, port, link, trend.wait_average, at_us, changes);
}

void AlarmRules::judge(AlarmKind kind, PortId port, LinkId link, double value, std::int64_t at_us,
                       std::vector<AlarmChange>& changes) {
  const AlarmRule& rule = thresholds_[kind];
  auto found = states_.find(key(kind, port));
  if (found == states_.end()) {
    const bool reaches = std::ranges::any_of(rule.levels, [&](const auto& l) { return l && value >= l->raise_at; });
    if (!reaches) return;  // as nearly all ports at nearly all times
    found = states_.try_emplace(key(kind, port)).first;
  }
  State& state = found->second;
  for (std::size_t i = 0; i < state.levels.size(); ++i) {
    if (rule.levels[i]) step(state.levels[i], *rule.levels[i], rule, state, value, at_us);
  }
  const bool raised = state.levels[0].active || state.levels[kCritical].active;
  const std::size_t severity = state.levels[kCritical].active ? kCritical : 0;
  if (raised && (!state.raised || static_cast<std::size_t>(state.alarm.severity) != severity)) {
    if (!state.raised) {
      const bool again = state.cleared_us >= 0 && at_us - state.cleared_us <= thresholds_.flap_memory_us;
      state.raises = again ? state.raises + 1 : 1;
    }
    state.alarm = {kind,
                   port,
                   link,
                   static_cast<AlarmSeverity>(severity),
                   value,
                   rule.levels[severity]->raise_at,
                   state.levels[severity].since_us};
    state.raised = true;
    changes.push_back({AlarmChange::What::raise, state.alarm, at_us});
  } else if (!raised && state.raised) {
    state.alarm.value = value;
    state.alarm.limit = rule.levels[static_cast<std::size_t>(state.alarm.severity)]->clear_below;
    state.raised = false;
    state.cleared_us = at_us;
    changes.push_back({AlarmChange::What::clear, state.alarm, at_us});
  }
  const bool pending = state.levels[0].readings > 0 || state.levels[kCritical].readings > 0;
  const bool remembered = state.cleared_us >= 0 && at_us - state.cleared_us <= thresholds_.flap_memory_us;
  if (!raised && !pending && !remembered) states_.erase(found);
}

void AlarmRules::step(Level& level, const AlarmLevel& limits, const AlarmRule& rule, const State& state, double value,
                      std::int64_t at_us) const {
  if (level.active) {
    if (value >= limits.clear_below) {
      level.calm_since_us = -1;
      return;
    }
    if (level.calm_since_us < 0) level.calm_since_us = at_us;
    if (at_us - level.calm_since_us >= calm_needed(rule, state)) level = {};
    return;
  }
  if (value < limits.raise_at) {
    level.readings = 0;
    return;
  }
  if (level.readings == 0) level.since_us = at_us;
  level.readings = std::min(level.readings + 1, rule.hold_readings);
  level.active = level.readings >= rule.hold_readings && at_us - level.since_us >= rule.hold_us;
}

std::int64_t AlarmRules::calm_needed(const AlarmRule& rule, const State& state) const {
  std::int64_t calm = rule.calm_us;
  for (std::uint32_t i = 1; i < state.raises && calm < thresholds_.max_calm_us; ++i) calm *= 2;
  return std::max(rule.calm_us, std::min(calm, thresholds_.max_calm_us));
}

void AlarmRules::forget(PortId port, std::int64_t at_us, std::vector<AlarmChange>& changes) {
  for (std::size_t kind = 0; kind < kAlarmKinds; ++kind) {
    const auto found = states_.find(key(static_cast<AlarmKind>(kind), port));
    if (found == states_.end()) continue;
    if (found->second.raised) changes.push_back({AlarmChange::What::clear, found->second.alarm, at_us});
    states_.erase(found);
  }
}

std::vector<Alarm> AlarmRules::raised() const {
  std::vector<Alarm> alarms;
  for (const auto& [_, state] : states_) {
    if (state.raised) alarms.push_back(state.alarm);
  }
  std::ranges::sort(alarms, {}, [](const Alarm& alarm) { return key(alarm.kind, alarm.port); });
  return alarms;
}

}  // namespace railweave::fabric::health
