// The tier of each switch, derived from the cabling: 0 for switches with host ports, else the least number of
// links to such a switch. Aggregation nodes are not hosts, so spines that have them keep their tier.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

// One entry per switch; Topology::kNoTier where it is connected to no host. O(ports).
std::vector<std::uint8_t> compute_tiers(const Topology& topology);

}  // namespace railweave::fabric
