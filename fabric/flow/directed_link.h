// Directed links: flows cross them and each has a capacity of its own. Two per cable, numbered densely from LinkId: 2 x
// link leaves the link's port a, 2 x link + 1 its port b. NVLink ports of GPUs are cables like any other. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

using DirectedLink = std::uint32_t;

inline std::size_t directed_link_count(const Topology& topology) { return topology.links().size() * 2; }

// The directed link that leaves a port with a cable.
inline DirectedLink directed_link(const Topology& topology, PortId out) {
  const LinkId link = topology.link(out);
  return static_cast<DirectedLink>(link.index() * 2 + (topology.a(link) == out ? 0 : 1));
}
inline LinkId link_of(DirectedLink link) { return LinkId(link / 2); }
inline PortId out_port_of(const Topology& topology, DirectedLink link) {
  return link % 2 == 0 ? topology.a(link_of(link)) : topology.b(link_of(link));
}

// Mb/s by DirectedLink: the rate that the link runs at, 0 where the link is down. A link of unknown rate counts as `unknown_mbps`.
std::vector<double> link_capacities_mbps(const FabricView& view, double unknown_mbps = 100'000);

}  // namespace railweave::fabric
