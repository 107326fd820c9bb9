// Events that change jobs at their users' request <-> JSON, as the journal keeps them.
#pragma once

#include <optional>
#include <string_view>

#include "services/control/events/event.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const control::JobChanged& event);
Out to_json(const control::JobReordered& event);
Out to_json(const control::JobHeld& event);
// none: of another kind.
std::optional<Result<control::EventBody>> job_change_from_json(std::string_view kind, const Json& data);

}  // namespace railweave::api
