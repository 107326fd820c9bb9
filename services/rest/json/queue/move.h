// Moves of running jobs as JSON: plans, and what is under way.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/control/decide/move_plans.h"
#include "services/json/json_out.h"

namespace railweave::api {

// "head", "domains" or a job's name. Errors: invalid.
Result<control::MoveTarget> move_target(const std::string& text);
// The body of POST /v1/queue/moves.
Result<control::MoveTarget> read_move_target(std::string_view body);

// As one step of a defragmentation. Of operators and viewers.
std::string write_planned_moves(const control::ClusterState& state, const control::PlannedMoves& planned);
// What is under way, and the budget.
std::string write_moves(const control::ClusterState& state, std::int64_t now_us, const MessageReader& reader);

}  // namespace railweave::api
