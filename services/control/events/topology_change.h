// What a fabric that is accepted makes of the state: jobs, drains, reservations and keys keep their nodes by name.
#pragma once

#include "services/control/events/event.h"

namespace railweave::control {

void apply_topology(ClusterState& state, const TopologyAccepted& body, const Event& event);

}  // namespace railweave::control
