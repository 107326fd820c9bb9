// Events about the queue, and the tables they fill, as the JSON values that the journal keeps.
#pragma once

#include <optional>
#include <string_view>

#include "services/control/events/event.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const control::JobWaits& event);
Out to_json(const control::JobEvicted& event);
Out to_json(const control::JobMoved& event, const fabric::Topology& topology);
Out to_json(const control::JobDamaged& event);
Out to_json(const control::JobCheckpointed& event);
Out to_json(const control::QueueRulesPut& event);
Out to_json(const control::ReservationPut& event, const fabric::Topology& topology);
Out to_json(const control::MaintenanceBegan& event);
Out to_json(const control::ReservationRemoved& event);

// nullopt: the kind is none of these.
std::optional<Result<control::EventBody>> queue_event_from_json(std::string_view kind, const Json& data,
                                                                const fabric::Topology& topology);

// Their part of a snapshot: {"policy", "reservations", "used"}. The topology must be set before it is read back.
Out queue_state_to_json(const control::ClusterState& state);
Result<void> read_queue_state(const Json& value, control::ClusterState& state);

}  // namespace railweave::api
