#include "scheduler/collective/network_parts.h"

#include <algorithm>

#include "fabric/topology/joined_switches.h"

namespace railweave::scheduler {

using fabric::GpuId;
using fabric::LinkId;
using fabric::PortId;
using fabric::Topology;

template <class InUse>
void NetworkParts::fill(const Topology& topology, const GpuPorts& ports, InUse in_use) {
  fabric::DisjointSets sets = fabric::joined_switches(topology, in_use);
  for (const GpuId gpu : topology.gpus()) {
    const auto begin = static_cast<std::ptrdiff_t>(parts_.size());
    for (const PortId port : ports.of(gpu)) {
      const fabric::SwitchId leaf = topology.switch_of(topology.peer(port));
      if (leaf && in_use(topology.link(port))) parts_.push_back(sets.find(leaf.index()));
    }
    std::sort(parts_.begin() + begin, parts_.end());
    parts_.erase(std::unique(parts_.begin() + begin, parts_.end()), parts_.end());
    first_.push_back(static_cast<std::uint32_t>(parts_.size()));
  }
  all_ = parts_;
  std::ranges::sort(all_);
  const auto repeated = std::ranges::unique(all_);
  all_.erase(repeated.begin(), repeated.end());
  all_alike_ = ports.ports.empty() || (all_.size() == 1 && parts_.size() == topology.gpus().size());
}

NetworkParts::NetworkParts(const Topology& topology, const GpuPorts& ports) {
  fill(topology, ports, [](LinkId) { return true; });
}

NetworkParts::NetworkParts(const fabric::FabricView& view, const GpuPorts& ports) {
  fill(view.topology(), ports, [&](LinkId link) { return view.carries_transit(link); });
}

}  // namespace railweave::scheduler
