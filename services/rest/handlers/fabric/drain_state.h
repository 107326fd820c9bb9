// Drains by the name of what is drained, each with the reason why it has not reached its next state.
#pragma once

#include <string>

#include "services/rest/control_plane.h"
#include "services/rest/json/fabric/drain.h"

namespace railweave::api {

// "": it waits for nothing. Links and switches wait for new tables, nodes for their jobs to end.
std::string waits_for(const control::LiveFabric& live, const control::ClusterState& state, const control::Drain& drain);

// The drain of the link, switch or node of that name; null: not drained. Refers into the state.
ShownDrain shown_drain(const ControlPlane& plane, const control::ClusterState& state, control::DrainKind kind,
                       const std::string& name);
ShownDrain shown_drain(const ControlPlane& plane, const control::ClusterState& state,
                       const control::DrainTarget& target);

}  // namespace railweave::api
