#include "fabric/topology/cabling_groups.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "fabric/topology/disjoint_sets.h"
#include "fabric/topology/leaf_sharing.h"
#include "fabric/topology/spine_hosts.h"

namespace railweave::fabric {
namespace {

constexpr std::uint8_t kFar = 255;

// Storage and management networks are ignored as long as there is another.
class NetworkFilter {
 public:
  explicit NetworkFilter(const Topology& topology) : topology_(topology), counts_(topology.subnets().size()) {
    bool any = false;
    for (const auto sw : topology.switches()) {
      const SubnetId subnet = topology.subnet(sw);
      const SubnetKind kind = topology.kind(subnet);
      counts_[subnet.index()] = kind != SubnetKind::storage && kind != SubnetKind::management;
      any = any || counts_[subnet.index()];
    }
    if (!any) counts_.assign(counts_.size(), true);
  }
  [[nodiscard]] bool counts(SwitchId sw) const { return counts_[topology_.subnet(sw).index()]; }

 private:
  const Topology& topology_;
  std::vector<bool> counts_;
};

class GroupSearch {
 public:
  GroupSearch(const Topology& topology, const std::vector<bool>& counted)
      : topology_(topology),
        filter_(topology),
        sharing_(
            topology, LeafSharing::Partners::half_of_the_larger, [&](HostId host) { return counted[host.index()]; },
            [&](PortId port) { return filter_.counts(switch_at(topology, port)); }) {}

  CablingGroups run() {
    DisjointSets leaf_groups(topology_.switches().size());
    for (const auto leaf : topology_.switches()) {
      for (const auto partner : sharing_.partners(leaf)) leaf_groups.unite(leaf.index(), partner.index());
    }
    choose_leaves(leaf_groups);
    CablingGroups groups;
    groups.has_leaf_groups = std::ranges::any_of(leaf_of_host_, [](SwitchId leaf) { return leaf.valid(); });
    groups.leaf_group = by_leaf(leaf_groups);
    find_pods(leaf_groups, groups);
    DisjointSets components = std::move(leaf_groups);
    for (const auto link : topology_.links()) {
      if (topology_.joins_switches(link)) unite_ends(components, link);
    }
    groups.component = components_of_hosts(components, groups.has_leaf_groups);
    return groups;
  }

 private:
  void unite_ends(DisjointSets& sets, LinkId link) const {
    sets.unite(topology_.switch_of(topology_.a(link)).index(), topology_.switch_of(topology_.b(link)).index());
  }

  // A host belongs to the leaf group with most of its ports, the first of equals, and is given one leaf of it.
  void choose_leaves(DisjointSets& leaf_groups) {
    std::vector<std::uint32_t> ports(topology_.switches().size(), 0);
    std::vector<SwitchId> met;
    for (const auto host : topology_.hosts()) {
      met.clear();
      for (const bool filtered : {true, false}) {
        for (const auto hca : topology_.hcas(host)) {
          for (const auto port : topology_.ports(hca)) {
            const SwitchId leaf = switch_at(topology_, port);
            if (leaf && (!filtered || filter_.counts(leaf))) met.push_back(leaf);
          }
        }
        if (!met.empty()) break;
      }
      SwitchId best;
      std::uint32_t most = 0;
      for (const auto leaf : met) ++ports[leaf_groups.find(leaf.index())];
      for (const auto leaf : met) {
        const std::uint32_t count = ports[leaf_groups.find(leaf.index())];
        if (count > most) {
          most = count;
          best = leaf;
        }
      }
      for (const auto leaf : met) ports[leaf_groups.find(leaf.index())] = 0;
      leaf_of_host_.push_back(best);
    }
  }

  // Each host without a cable is a group of its own.
  [[nodiscard]] std::vector<std::uint32_t> by_leaf(DisjointSets& sets) const {
    std::vector<std::uint32_t> group;
    const auto switches = static_cast<std::uint32_t>(topology_.switches().size());
    for (const auto host : topology_.hosts()) {
      const SwitchId leaf = leaf_of_host_[host.index()];
      group.push_back(leaf ? sets.find(leaf.index()) : switches + host.value());
    }
    return group;
  }

  // 0 for leaves, 1 for switches one link above them, else far. A switch that has only hosts that do not count is a
  // leaf when they use a fifth of its cables: storage servers are on leaves, while a fabric manager may be cabled to a
  // core.
  [[nodiscard]] std::vector<std::uint8_t> near_tiers() const {
    std::vector<std::uint8_t> tier(topology_.switches().size(), kFar);
    std::vector<std::uint32_t> hosts;
    for (const auto sw : topology_.switches()) hosts.push_back(static_cast<std::uint32_t>(sharing_.hosts(sw).size()));
    for (const auto sw : topology_.switches()) {
      if (hosts[sw.index()] > 0 ? !is_spine_with_hosts(topology_, sw, hosts) : has_many_other_hosts(sw)) {
        tier[sw.index()] = 0;
      }
    }
    for (const auto link : topology_.links()) {
      if (!topology_.joins_switches(link)) continue;
      const std::array ends{topology_.switch_of(topology_.a(link)).index(),
                            topology_.switch_of(topology_.b(link)).index()};
      for (const std::size_t i : {0U, 1U}) {
        if (tier[ends[i]] == kFar && tier[ends[1 - i]] == 0) tier[ends[i]] = 1;
      }
    }
    return tier;
  }

  [[nodiscard]] bool has_many_other_hosts(SwitchId sw) const {
    std::size_t links = 0;
    std::size_t host_ports = 0;
    for (const auto port : topology_.ports(sw)) {
      const PortId peer = topology_.peer(port);
      const HcaId hca = peer ? topology_.hca_of(peer) : HcaId();
      if (hca && topology_.host(hca)) ++host_ports;
      if (peer && topology_.is_switch_port(peer)) ++links;
    }
    return host_ports > 0 && 4 * host_ports >= links;
  }

  void find_pods(DisjointSets pods, CablingGroups& groups) const {
    const bool named = std::ranges::all_of(
        leaf_of_host_, [&](SwitchId leaf) { return !leaf || !filter_.counts(leaf) || !topology_.group(leaf).empty(); });
    if (named && groups.has_leaf_groups) {
      std::vector<std::pair<std::string_view, SwitchId>> by_name;
      for (const auto sw : topology_.switches()) {
        if (!topology_.group(sw).empty()) by_name.emplace_back(topology_.group(sw), sw);
      }
      std::ranges::sort(by_name);
      for (std::size_t i = 1; i < by_name.size(); ++i) {
        if (by_name[i].first == by_name[i - 1].first)
          pods.unite(by_name[i].second.index(), by_name[i - 1].second.index());
      }
      for (const auto leaf : leaf_of_host_) {
        groups.named_pod_of.push_back(leaf ? topology_.group(leaf) : std::string_view());
      }
    } else {
      const auto tier = near_tiers();
      for (const auto link : topology_.links()) {
        if (!topology_.joins_switches(link)) continue;
        const auto a = tier[topology_.switch_of(topology_.a(link)).index()];
        const auto b = tier[topology_.switch_of(topology_.b(link)).index()];
        if (a <= 1 && b <= 1 && a + b < 2) unite_ends(pods, link);
      }
    }
    groups.pod = by_leaf(pods);
  }

  // NVLink joins hosts too. If no host has a cable, nothing is known of the network, and all hosts are one
  // cluster.
  [[nodiscard]] std::vector<std::uint32_t> components_of_hosts(DisjointSets& switches, bool any_cable) const {
    if (!any_cable) return std::vector<std::uint32_t>(topology_.hosts().size(), 0);
    const std::vector<std::uint32_t> of_leaf = by_leaf(switches);
    DisjointSets joined(topology_.switches().size() + topology_.hosts().size());
    for (const auto domain : topology_.nvlink_domains()) {
      const auto gpus = topology_.gpus(domain);
      for (const auto gpu : gpus) {
        joined.unite(of_leaf[topology_.host(gpus.front()).index()], of_leaf[topology_.host(gpu).index()]);
      }
    }
    std::vector<std::uint32_t> component;
    for (const auto group : of_leaf) component.push_back(joined.find(group));
    adopt_servers(switches, component);
    return component;
  }

  // Hosts that are only on storage or management networks belong to the first part of the cluster on the same network.
  void adopt_servers(DisjointSets& switches, std::vector<std::uint32_t>& component) const {
    std::unordered_map<std::uint32_t, std::uint32_t> served;  // component of such a network -> of the cluster
    for (const auto host : topology_.hosts()) {
      if (sharing_.leaves(host).empty()) continue;
      for (const auto hca : topology_.hcas(host)) {
        for (const auto port : topology_.ports(hca)) {
          const SwitchId leaf = switch_at(topology_, port);
          if (leaf && !filter_.counts(leaf)) served.try_emplace(switches.find(leaf.index()), component[host.index()]);
        }
      }
    }
    for (const auto host : topology_.hosts()) {
      const SwitchId leaf = leaf_of_host_[host.index()];
      if (!leaf || filter_.counts(leaf)) continue;
      const auto found = served.find(switches.find(leaf.index()));
      if (found != served.end()) component[host.index()] = found->second;
    }
  }

  const Topology& topology_;
  NetworkFilter filter_;
  LeafSharing sharing_;
  std::vector<SwitchId> leaf_of_host_;  // none: no cable
};

}  // namespace

std::vector<bool> counted_hosts(const Topology& topology) {
  std::vector<bool> counted(topology.hosts().size());
  const auto mark = [&](auto matters) {
    bool any = false;
    for (const auto host : topology.hosts()) {
      counted[host.index()] = matters(host);
      any = any || counted[host.index()];
    }
    return any;
  };
  if (mark([&](HostId host) { return !topology.gpus(host).empty(); })) return counted;
  if (mark([&](HostId host) { return topology.kind(host) == HostKind::compute; })) return counted;
  counted.assign(counted.size(), true);
  return counted;
}

CablingGroups derive_cabling_groups(const Topology& topology, const std::vector<bool>& counted) {
  return GroupSearch(topology, counted).run();
}

}  // namespace railweave::fabric
