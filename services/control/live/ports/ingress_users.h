// Which jobs are at which ports of adapters, and with which service levels their ranks may send: what switches have to let
// in there (fabric/qos/ingress_filter.h). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/qos/ingress_filter.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// Of all placed jobs that have or had a guarantee; ascending by port.
std::vector<fabric::IngressUser> ingress_users(const ClusterState& state);

// Another job whose ranks may send with the service level of that lane, although it is not its own: it had it when it
// started, or its guarantee is at risk. None: there is no such job.
std::optional<JobId> other_sender(const ClusterState& state, std::uint8_t lane, JobId owner);

// The lanes, a bit each, whose service level jobs may send with that do not have them (other_sender()).
std::uint16_t shared_lanes(const ClusterState& state);

}  // namespace railweave::control
