#include "services/rest/json/alarm.h"

#include "fabric/base/text/time_text.h"
#include "services/rest/json/alarm_value.h"

namespace railweave::api {

using control::AlarmSeverity;

std::string_view to_string(AlarmSeverity severity) {
  return severity == AlarmSeverity::critical ? "critical" : "warning";
}

std::optional<AlarmSeverity> parse_alarm_severity(std::string_view text) {
  for (const auto severity : {AlarmSeverity::warning, AlarmSeverity::critical}) {
    if (to_string(severity) == text) return severity;
  }
  return std::nullopt;
}

Out shown_alarm_json(const control::Alarm& alarm) {
  return {{"id", alarm.id()},
          {"kind", alarm.kind},
          {"severity", to_string(alarm.severity)},
          {"subject", {{"kind", alarm.subject_kind}, {"id", alarm.subject_id}}},
          {"subnet", alarm.subnet.empty() ? Out(nullptr) : Out(alarm.subnet)},
          {"text", alarm.text},
          {"jobs", alarm.jobs},
          {"raisedAt", time_text(alarm.raised_us)},
          {"version", alarm.version}};
}

std::string write_alarm(const control::Alarm& alarm) { return dump(shown_alarm_json(alarm)); }

}  // namespace railweave::api
