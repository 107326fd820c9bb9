// What jobs report of their steps <-> JSON, as the journal keeps it.
#pragma once

#include <optional>
#include <string_view>

#include "services/control/events/event.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const control::JobStepsReported& event);
// none: of another kind.
std::optional<Result<control::EventBody>> step_event_from_json(std::string_view kind, const Json& data);

// Their part of a snapshot: a list.
Out step_times_to_json(const control::StepTable& steps);
Result<void> read_step_times(const Json& value, control::ClusterState& state);

}  // namespace railweave::api
