// Costs of links (ClusterState::link_costs) of one subnet. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "fabric/topology/topology.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// The subnet of a link between switches; "": the topology has no such link.
std::string_view subnet_of_link(const fabric::Topology& topology, std::string_view link_text);
// How many of its links have one.
std::size_t costs_in(const ClusterState& state, std::string_view subnet);

}  // namespace railweave::control
