#include "fabric/topology/rail_islands.h"

#include "fabric/topology/disjoint_sets.h"

namespace railweave::fabric {

LeafSharing leaves_of_rails(const Topology& topology) {
  const auto counts = [&](HostId host) {
    return topology.kind(host) == HostKind::compute || topology.kind(host) == HostKind::storage;
  };
  return {topology, LeafSharing::Partners::quarter_of_the_larger, counts, [](PortId) { return true; }};
}

std::vector<std::uint32_t> rail_islands(const Topology& topology, const LeafSharing& sharing,
                                        const SwitchComponents& components) {
  DisjointSets joined(components.count);
  for (const SwitchId leaf : topology.switches()) {
    for (const SwitchId partner : sharing.partners(leaf)) {
      joined.unite(components.of_switch[leaf.index()], components.of_switch[partner.index()]);
    }
  }
  std::vector<std::uint32_t> number(components.count, UINT32_MAX);
  std::vector<std::uint32_t> islands;
  islands.reserve(topology.switches().size());
  std::uint32_t count = 0;
  for (const std::uint32_t component : components.of_switch) {
    std::uint32_t& island = number[joined.find(component)];
    if (island == UINT32_MAX) island = count++;
    islands.push_back(island);
  }
  return islands;
}

std::vector<std::uint32_t> rail_islands(const Topology& topology) {
  return rail_islands(topology, leaves_of_rails(topology), switch_components(topology));
}

}  // namespace railweave::fabric
