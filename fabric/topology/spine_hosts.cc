#include "fabric/topology/spine_hosts.h"

#include <algorithm>

namespace railweave::fabric {

bool is_spine_with_hosts(const Topology& topology, SwitchId sw, const std::vector<std::uint32_t>& hosts_of_switch) {
  const std::uint32_t own = hosts_of_switch[sw.index()];
  if (own == 0) return false;
  std::vector<std::uint32_t> neighbours;  // their hosts, once per link
  for (const auto port : topology.ports(sw)) {
    const PortId peer = topology.peer(port);
    const SwitchId other = peer ? topology.switch_of(peer) : SwitchId();
    if (other && hosts_of_switch[other.index()] > 0) neighbours.push_back(hosts_of_switch[other.index()]);
  }
  if (neighbours.size() < 2 || neighbours.size() <= own) return false;
  const auto middle = neighbours.begin() + static_cast<std::ptrdiff_t>(neighbours.size() / 2);
  std::ranges::nth_element(neighbours, middle);
  return *middle > 2 * own;
}

}  // namespace railweave::fabric
