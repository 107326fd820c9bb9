#include "fabric/topology/leaf_sharing.h"

#include <algorithm>
#include <numeric>

namespace railweave::fabric {

LeafSharing::LeafSharing(const Topology& topology, Partners rule, const std::function<bool(HostId)>& counts,
                         const std::function<bool(PortId)>& port_counts) {
  const std::size_t switches = topology.switches().size();
  first_leaf_.push_back(0);
  first_host_.assign(switches + 1, 0);
  for (const auto host : topology.hosts()) {
    const std::size_t first = leaves_.size();
    if (counts(host)) {
      for (const auto hca : topology.hcas(host)) {
        for (const auto port : topology.ports(hca)) {
          const SwitchId leaf = switch_at(topology, port);
          if (leaf && port_counts(port)) leaves_.push_back(leaf);
        }
      }
      const auto begin = leaves_.begin() + static_cast<std::ptrdiff_t>(first);
      std::sort(begin, leaves_.end());
      leaves_.erase(std::unique(begin, leaves_.end()), leaves_.end());
      if (leaves_.size() - first > kMaxLeavesPerHost) leaves_.resize(first);
    }
    for (std::size_t i = first; i < leaves_.size(); ++i) ++first_host_[leaves_[i].index() + 1];
    first_leaf_.push_back(static_cast<std::uint32_t>(leaves_.size()));
  }
  std::partial_sum(first_host_.begin(), first_host_.end(), first_host_.begin());
  hosts_.resize(leaves_.size());
  auto next = first_host_;
  for (const auto host : topology.hosts()) {
    for (const auto leaf : leaves(host)) hosts_[next[leaf.index()]++] = host;
  }
  find_partners(switches, rule == Partners::half_of_the_larger ? 2 : 4);
}

void LeafSharing::find_partners(std::size_t switches, std::size_t part_of_larger) {
  std::vector<std::uint32_t> shared(switches, 0);
  std::vector<SwitchId> met;
  first_partner_.push_back(0);
  for (std::size_t s = 0; s < switches; ++s) {
    const SwitchId leaf(s);
    for (const auto host : hosts(leaf)) {
      for (const auto other : leaves(host)) {
        if (other == leaf) continue;
        if (shared[other.index()]++ == 0) met.push_back(other);
      }
    }
    std::ranges::sort(met);
    for (const auto other : met) {
      const auto [smaller, larger] = std::minmax({hosts(leaf).size(), hosts(other).size()});
      const std::size_t both = shared[other.index()];
      if (2 * both > smaller && part_of_larger * both > larger) partners_.push_back(other);
      shared[other.index()] = 0;
    }
    met.clear();
    first_partner_.push_back(static_cast<std::uint32_t>(partners_.size()));
  }
}

SwitchComponents switch_components(const Topology& topology) {
  SwitchComponents components;
  components.of_switch.assign(topology.switches().size(), UINT32_MAX);
  std::vector<SwitchId> reached;
  for (const auto start : topology.switches()) {
    if (components.of_switch[start.index()] != UINT32_MAX) continue;
    const std::uint32_t component = components.count++;
    components.of_switch[start.index()] = component;
    reached.assign(1, start);
    while (!reached.empty()) {
      const SwitchId sw = reached.back();
      reached.pop_back();
      for (const auto port : topology.ports(sw)) {
        const PortId peer = topology.peer(port);
        const SwitchId other = peer ? topology.switch_of(peer) : SwitchId();
        if (!other || components.of_switch[other.index()] != UINT32_MAX) continue;
        components.of_switch[other.index()] = component;
        reached.push_back(other);
      }
    }
  }
  return components;
}

}  // namespace railweave::fabric
