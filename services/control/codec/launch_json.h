// A job's launch and the events about it, as the JSON values that the journal keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/control/events/event.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const control::Launch& launch);
Result<control::Launch> launch_from_json(const Json& value, const std::string& pointer);

Out to_json(const control::JobAccepted& event);
Out to_json(const control::JobRunning& event);
Out to_json(const control::JobReleasing& event);
Out to_json(const control::JobFreed& event);
Out to_json(const control::JobOverdue& event);
Out to_json(const control::OfferExpired& event);

// nullopt: the kind is none of these.
std::optional<Result<control::EventBody>> launch_event_from_json(std::string_view kind, const Json& data);

}  // namespace railweave::api
