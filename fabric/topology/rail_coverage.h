// Which hosts lack a rail that they should be on, and which adapters hang on another rail than their like.
#pragma once

#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

struct RailShortfall {
  HostId host;
  std::vector<RailId> missing;  // in order of id
};

// Compute hosts that should be on every rail of their group of rails and are not. Rails form a group when more than
// half of the hosts of one are on the other too, so that clusters with rails of their own are seen apart. A host should
// be on all of them when it is on more than half, or when most hosts of its family are on all; a family are hosts whose
// names differ in numbers only. Hosts of other kinds, and those with an adapter or two for something else, are not
// short of anything. O(ports x rails per host).
std::vector<RailShortfall> hosts_short_of_rail(const Topology& topology);

// Adapter ports of compute hosts that hang on another rail than three in four of the same device in the host's family:
// cables that were swapped. Only where rails were inferred.
std::vector<PortId> ports_on_odd_rail(const Topology& topology);

}  // namespace railweave::fabric
