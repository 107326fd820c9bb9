// Which tier each switch is on, as far as the cabling shows: 0 for switches with host ports, else the least number of
// links to such a switch. Aggregation nodes are no hosts, so spines that carry them stay spines.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

// One entry per switch; Topology::kNoTier where no host is reached. O(ports).
std::vector<std::uint8_t> compute_tiers(const Topology& topology);

}  // namespace railweave::fabric
