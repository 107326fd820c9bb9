// Alarms as JSON: GET /v1/alarms and GET /v1/alarms/{id}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/topology/topology.h"
#include "services/control/state/alarm.h"

namespace railweave::api {

std::string write_alarm(const fabric::Topology& topology, const control::Alarm& alarm);

// The body of an acknowledgement: why. An empty body is none.
Result<std::string> read_note(std::string_view body);

std::string_view to_string(control::AlarmSeverity severity);  // "warning", "critical"
std::optional<control::AlarmSeverity> parse_alarm_severity(std::string_view text);

}  // namespace railweave::api
