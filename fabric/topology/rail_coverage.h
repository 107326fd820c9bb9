// Finds hosts without a port on a rail that they should be on, and adapters on another rail than the same device of
// similar hosts. Used by the checks of a fabric.
#pragma once

#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

struct RailShortfall {
  HostId host;
  std::vector<RailId> missing;  // in order of id
};

// Compute hosts that should be on every rail of their group of rails and are not. Rails form a group when more than
// half of the hosts of one are on the other too, so that clusters with rails of their own are kept apart; rails of one
// number in two islands (rail_islands.h) are two. A host should be on all of them when it is on more than half, or when
// most hosts of its family are on all; hosts are a family when their names differ in numbers only. Hosts of other kinds,
// and those with an adapter or two for another purpose, are never short of a rail. O(ports x rails per host).
std::vector<RailShortfall> hosts_short_of_rail(const Topology& topology);

// Adapter ports of compute hosts on another rail than three quarters of the same port of the same device in the host's family
// and island: probably swapped cables. By id; empty unless rails were inferred.
struct OddPort {
  PortId port;
  RailId usual;  // of those three quarters
  friend bool operator==(OddPort, OddPort) = default;
};
std::vector<OddPort> ports_on_odd_rail(const Topology& topology);

// Of these, two ports of one host each of which is on the rail that is usual for the other: their cables are crossed.
struct CrossedPorts {
  OddPort a, b;
};
std::vector<CrossedPorts> crossed_ports(const Topology& topology, const std::vector<OddPort>& odd);

}  // namespace railweave::fabric
