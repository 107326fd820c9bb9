#include "fabric/topology/tiers.h"

namespace railweave::fabric {

std::vector<std::uint8_t> compute_tiers(const Topology& topology) {
  std::vector<std::uint8_t> tier(topology.switches().size(), Topology::kNoTier);
  std::vector<SwitchId> reached;
  for (const auto sw : topology.switches()) {
    for (const auto port : topology.ports(sw)) {
      const PortId peer = topology.peer(port);
      const HcaId hca = peer ? topology.hca_of(peer) : HcaId();
      if (!hca || topology.kind(hca) != HcaKind::host) continue;
      tier[sw.index()] = 0;
      reached.push_back(sw);
      break;
    }
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const SwitchId sw = reached[next];
    if (tier[sw.index()] + 1 >= Topology::kNoTier) continue;
    for (const auto port : topology.ports(sw)) {
      const PortId peer = topology.peer(port);
      const SwitchId other = peer ? topology.switch_of(peer) : SwitchId();
      if (!other || tier[other.index()] != Topology::kNoTier) continue;
      tier[other.index()] = static_cast<std::uint8_t>(tier[sw.index()] + 1);
      reached.push_back(other);
    }
  }
  return tier;
}

}  // namespace railweave::fabric
