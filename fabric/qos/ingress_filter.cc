#include "fabric/qos/ingress_filter.h"

#include <algorithm>
#include <utility>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

IngressFilter IngressFilter::without(const std::vector<std::uint16_t>& closed) const {
  if (std::ranges::all_of(closed, [](std::uint16_t levels) { return levels == 0; })) return *this;
  std::vector<std::uint16_t> levels(std::max(ports(), closed.size()));
  for (unsigned in = 0; in < levels.size(); ++in) {
    levels[in] = static_cast<std::uint16_t>(from(in) & ~(in < closed.size() ? closed[in] : 0U));
  }
  return IngressFilter(std::move(levels));
}

IngressFilter ingress_filter(const Topology& topology, SwitchId sw, std::span<const PassingLevels> levels_of,
                             std::uint16_t open) {
  std::vector<std::uint16_t> levels{IngressFilter::kAll};
  for (const PortId port : topology.ports(sw)) {
    const auto number = static_cast<std::size_t>(topology.number(port));
    // Ports without an accepted cable pass what every host may send: something may be plugged into them.
    if (levels.size() <= number) levels.resize(number + 1, open);
    const PortId peer = topology.peer(port);
    if (!peer) continue;
    if (topology.is_switch_port(peer)) {
      levels[number] = IngressFilter::kAll;
      continue;
    }
    for (const PassingLevels& one : std::ranges::equal_range(levels_of, peer, {}, &PassingLevels::port)) {
      levels[number] |= one.levels;
    }
  }
  return IngressFilter(std::move(levels));
}

}  // namespace railweave::fabric
