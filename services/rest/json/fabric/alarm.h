// Alarms as JSON: GET /v1/alarms and GET /v1/alarms/{id}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "services/control/state/alarm.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {

std::string write_alarm(const control::ClusterState& state, const control::Alarm& alarm, const MessageReader& reader);

// The body of an acknowledgement: why. An empty body is none.
Result<std::string> read_note(std::string_view body);

struct MuteRequest {
  std::int64_t for_us = 0;
  std::string note;
};
Result<MuteRequest> read_mute(std::string_view body);

std::string_view to_string(control::AlarmSeverity severity);  // "warning", "critical"
std::optional<control::AlarmSeverity> parse_alarm_severity(std::string_view text);

}  // namespace railweave::api
