#include "tests/unit/generate/fabric_measures.h"

#include <algorithm>
#include <deque>
#include <sstream>

namespace railweave::fabric {

std::map<std::pair<SwitchId, SwitchId>, unsigned> switch_pairs(const Topology& topology) {
  std::map<std::pair<SwitchId, SwitchId>, unsigned> pairs;
  for (const auto link : topology.links()) {
    if (!topology.joins_switches(link)) continue;
    const SwitchId a = topology.switch_of(topology.a(link));
    const SwitchId b = topology.switch_of(topology.b(link));
    ++pairs[{std::min(a, b), std::max(a, b)}];
  }
  return pairs;
}

std::vector<std::uint32_t> distances(const Topology& topology, SwitchId from) {
  std::vector<std::uint32_t> distance(topology.switches().size(), UINT32_MAX);
  std::deque<SwitchId> queue{from};
  distance[from.index()] = 0;
  while (!queue.empty()) {
    const SwitchId sw = queue.front();
    queue.pop_front();
    for (const auto port : topology.ports(sw)) {
      const SwitchId next = topology.peer(port) ? topology.switch_of(topology.peer(port)) : SwitchId();
      if (!next || distance[next.index()] != UINT32_MAX) continue;
      distance[next.index()] = distance[sw.index()] + 1;
      queue.push_back(next);
    }
  }
  return distance;
}

std::uint32_t diameter(const Topology& topology) {
  std::uint32_t longest = 0;
  for (const auto sw : topology.switches()) {
    if (!topology.is_leaf(sw)) continue;
    const auto distance = distances(topology, sw);
    for (const auto other : topology.switches()) {
      if (topology.is_leaf(other) && distance[other.index()] != UINT32_MAX) {
        longest = std::max(longest, distance[other.index()]);
      }
    }
  }
  return longest;
}

SwitchId leaf_of(const Topology& topology, HcaId hca) {
  const PortId peer = topology.peer(topology.ports(hca).front());
  return peer ? topology.switch_of(peer) : SwitchId();
}

std::uint32_t bisection(const Topology& topology, bool (*left)(const Topology&, HostId)) {
  // Nodes: switches, then hosts, a source and a sink. Capacities count cables; every cable may carry one path in each direction.
  const auto switches = static_cast<std::uint32_t>(topology.switches().size());
  const auto hosts = static_cast<std::uint32_t>(topology.hosts().size());
  const std::uint32_t source = switches + hosts;
  const std::uint32_t sink = source + 1;
  std::vector<std::map<std::uint32_t, std::int64_t>> residual(sink + 1);
  for (const auto& [pair, links] : switch_pairs(topology)) {
    residual[pair.first.index()][pair.second.value()] += links;
    residual[pair.second.index()][pair.first.value()] += links;
  }
  for (const auto host : topology.hosts()) {
    const std::uint32_t node = switches + host.value();
    for (const auto hca : topology.hcas(host)) {
      const SwitchId sw = leaf_of(topology, hca);
      if (!sw) continue;
      ++residual[node][sw.value()];
      ++residual[sw.index()][node];
    }
    if (left(topology, host))
      residual[source][node] = INT32_MAX;
    else
      residual[node][sink] = INT32_MAX;
  }
  std::uint32_t flow = 0;
  while (true) {
    std::vector<std::uint32_t> parent(sink + 1, UINT32_MAX);
    std::deque<std::uint32_t> queue{source};
    parent[source] = source;
    while (!queue.empty() && parent[sink] == UINT32_MAX) {
      const auto node = queue.front();
      queue.pop_front();
      for (const auto& [next, capacity] : residual[node]) {
        if (capacity <= 0 || parent[next] != UINT32_MAX) continue;
        parent[next] = node;
        queue.push_back(next);
      }
    }
    if (parent[sink] == UINT32_MAX) return flow;
    for (auto node = sink; node != source; node = parent[node]) {
      --residual[parent[node]][node];
      ++residual[node][parent[node]];
    }
    ++flow;
  }
}

unsigned cabled_ports(const Topology& topology, SwitchId sw) {
  return static_cast<unsigned>(
      std::ranges::count_if(topology.ports(sw), [&](PortId port) { return topology.peer(port).valid(); }));
}

std::string everything(const Topology& topology) {
  std::ostringstream text;
  for (const auto host : topology.hosts()) {
    text << topology.name(host) << " rack " << (topology.rack(host) ? topology.name(topology.rack(host)) : "-") << '\n';
    for (const auto gpu : topology.gpus(host)) {
      text << " gpu";
      for (const auto nic : topology.nics(gpu)) text << ' ' << to_string(topology.guid(nic));
      if (const auto domain = topology.nvlink_domain(gpu)) {
        text << " in " << topology.name(domain) << ' ' << topology.cluster_uuid(domain);
      }
      text << '\n';
    }
  }
  for (const auto hca : topology.hcas()) {
    text << to_string(topology.guid(hca)) << ' ' << topology.description(hca) << '\n';
    for (const auto port : topology.ports(hca)) {
      text << ' ' << to_string(topology.port_guid(port)) << " lid " << topology.lid(port) << " rail "
           << (topology.rail(port) ? topology.name(topology.rail(port)) : "-") << '\n';
    }
  }
  for (const auto sw : topology.switches()) {
    text << to_string(topology.guid(sw)) << ' ' << topology.name(sw) << ' ' << topology.group(sw) << " lid "
         << topology.lid(sw) << ' ' << topology.name(topology.subnet(sw)) << ' ' << topology.ports(sw).size() << '\n';
  }
  for (const auto link : topology.links()) {
    text << topology.link_text(link) << ' ' << topology.rate(link).value() << '\n';
  }
  return text.str();
}

}  // namespace railweave::fabric
