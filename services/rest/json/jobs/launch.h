// What a launcher asks for and says, and where its job stands, as JSON.
#pragma once

#include <optional>
#include <string_view>

#include "services/control/events/command.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

// The member "launcher" of a submission. Adds what is wrong to the reader; none: there is no such member, or it
// acknowledges nothing.
std::optional<control::LaunchTerms> read_launcher(ObjectReader& reader);
// The body of POST /v1/jobs/{id}/freed; an empty one frees all nodes.
Result<control::FreeJob> read_freed(control::JobId id, std::string_view body);

Out move_json(const control::Job& job, const MessageReader& reader);      // of a job with a move
Out phase_json(const control::Job& job);                                  // null: it is not placed
Out launcher_json(const control::Job& job, const MessageReader& reader);  // null: it has none

}  // namespace railweave::api
