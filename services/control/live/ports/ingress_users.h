// Which jobs are at which ports of adapters, and with which service levels their ranks may send: what switches have to let
// in there (fabric/qos/ingress_filter.h). Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "fabric/qos/ingress_filter.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// The ports of all placed jobs that have or had a guarantee, in ascending order.
std::vector<fabric::IngressUser> ingress_users(const ClusterState& state);

// By lane: a job whose ranks may send with its service level although the lane is not theirs: they had it when they started, or
// their guarantee is at risk.
std::map<std::uint8_t, JobId> other_senders(const ClusterState& state);

// All service levels that ranks were started with and that are not what they would be told now, a bit each.
std::uint16_t earlier_levels(const ClusterState& state);

}  // namespace railweave::control
