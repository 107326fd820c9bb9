// Plain measures of a generated fabric, for comparison with textbook formulas: distances by breadth-first search,
// bisection by maximum flow, and a text that is equal for equal fabrics. They use the ports and peers of a Topology and
// nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

// Links between switches: how many join each pair, smaller id first.
std::map<std::pair<SwitchId, SwitchId>, unsigned> switch_pairs(const Topology& topology);

// Links between switches from one to every other; UINT32_MAX: not connected.
std::vector<std::uint32_t> distances(const Topology& topology, SwitchId from);

// The most links between any two switches with hosts that are connected at all.
std::uint32_t diameter(const Topology& topology);

// The switch that an adapter's only port is cabled to.
SwitchId leaf_of(const Topology& topology, HcaId hca);

// Link-disjoint paths from the hosts for which `left` holds to all others.
std::uint32_t bisection(const Topology& topology, bool (*left)(const Topology&, HostId));

unsigned cabled_ports(const Topology& topology, SwitchId sw);
std::string everything(const Topology& topology);

}  // namespace railweave::fabric
