// Recognizes spines that have a host or two. Internal to fabric/topology.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

// Whether a switch with hosts is a spine nevertheless: at least two of its links go to switches with hosts, the median
// number of hosts of these (counted per link) is more than twice its own, and it has more links to them than hosts.
bool is_spine_with_hosts(const Topology& topology, SwitchId sw, const std::vector<std::uint32_t>& hosts_of_switch);

}  // namespace railweave::fabric
