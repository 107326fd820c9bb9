// Parts of a fabric whose rails are apart: networks of switches that share no hosts, as those of two sites or of two clusters in
// one import. A rail of one continues in no other. Internal to fabric/topology.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology/leaf_sharing.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

// Leaves that serve the same hosts, where hosts of jobs and of storage count: such leaves are on different rails.
LeafSharing leaves_of_rails(const Topology& topology);

// Networks are of one island where a leaf of one serves the same hosts as a leaf of another: a host that happens to be on two
// networks, as a gateway is, joins none. By switch, numbered in order of the first one.
std::vector<std::uint32_t> rail_islands(const Topology& topology, const LeafSharing& sharing,
                                        const SwitchComponents& components);
std::vector<std::uint32_t> rail_islands(const Topology& topology);

}  // namespace railweave::fabric
