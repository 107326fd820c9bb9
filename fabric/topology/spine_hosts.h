// Spines to which someone plugged a host or two. Internal to fabric/topology.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

// Whether a switch with hosts looks like a spine all the same: at least two of its links go to switches with hosts,
// these have typically (in the middle, link by link) more than twice as many hosts, and it has more links to them than
// hosts.
bool is_spine_with_hosts(const Topology& topology, SwitchId sw, const std::vector<std::uint32_t>& hosts_of_switch);

}  // namespace railweave::fabric
