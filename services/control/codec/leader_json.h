// The leader <-> JSON values of the journal and of snapshots.
#pragma once

#include "services/control/events/event.h"
#include "services/control/state/leader.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const control::LeaderBegan& event);
Result<control::EventBody> leader_began_from_json(const Json& data);

Out leader_to_json(const control::Leader& leader);
Result<void> read_leader(const Json& value, control::ClusterState& state);

}  // namespace railweave::api
