// The moves that would be offered for a job, worked out on a snapshot.
#pragma once

#include <string>

#include "services/rest/handlers/route_table.h"

namespace railweave::api {

// text: as move_target() has it. Errors: its own, and those of control::plan_moves().
Result<Response> planned_moves(const Call& call, const std::string& text);

}  // namespace railweave::api
