// Switches that links join, directly or through others.
#pragma once

#include "fabric/topology/disjoint_sets.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

// Sets of switches by index, over the links between switches for which in_use(link) holds. O(links).
template <class InUse>
DisjointSets joined_switches(const Topology& topology, InUse in_use) {
  DisjointSets joined(topology.switches().size());
  for (const LinkId link : topology.links()) {
    if (!topology.joins_switches(link) || !in_use(link)) continue;
    joined.unite(topology.switch_of(topology.a(link)).index(), topology.switch_of(topology.b(link)).index());
  }
  return joined;
}

// Over links and switches that are neither down nor drained.
inline DisjointSets joined_switches(const FabricView& view) {
  return joined_switches(view.topology(), [&](LinkId link) { return view.carries_transit(link); });
}

}  // namespace railweave::fabric
