// Moves and the events about them, as the JSON values that the journal keeps.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "services/control/events/event.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

// GPUs are kept by node, so these need the topology.
Out to_json(const control::Move& move, const fabric::Topology& topology);
Result<control::Move> move_from_json(const Json& value, const std::string& pointer, const fabric::Topology& topology);

Out to_json(const control::MoveOffered& event, const fabric::Topology& topology);
Out to_json(const control::MoveAccepted& event);
Out to_json(const control::MoveEnded& event);
// nullopt: the kind is none of these.
std::optional<Result<control::EventBody>> move_event_from_json(std::string_view kind, const Json& data,
                                                               const fabric::Topology& topology);

Out move_charges_to_json(const std::deque<control::MoveCharge>& charges);
Result<void> read_move_charges(const Json& value, std::deque<control::MoveCharge>& charges);

}  // namespace railweave::api
