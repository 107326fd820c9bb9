#include "fabric/drivers/infiniband/administration/multicast_trees.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace railweave::fabric::infiniband {
namespace {

// Spreads equal choices, the same in each run.
std::uint64_t mix(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t value = (seed * 0x9e3779b97f4a7c15U) ^ (a + 1) * 0xbf58476d1ce4e5b9U ^ (b + 1) * 0x94d049bb133111ebU;
  value ^= value >> 31U;
  value *= 0xd6e8feb86659fd93U;
  return value ^ value >> 32U;
}

}  // namespace

const std::vector<std::uint32_t>& MulticastTrees::distances(std::uint32_t from) {
  std::vector<std::uint32_t>& found = distances_[from];
  if (!found.empty()) return found;
  found.assign(graph_.cables.size(), kFar);
  found[from] = 0;
  using Reached = std::pair<std::uint32_t, std::uint32_t>;  // how far, which switch
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  queue.emplace(0, from);
  while (!queue.empty()) {
    const auto [far, sw] = queue.top();
    queue.pop();
    if (far != found[sw]) continue;
    for (const SwitchGraph::Cable& cable : graph_.cables[sw]) {
      if (far + length(cable) >= found[cable.peer]) continue;
      found[cable.peer] = far + length(cable);
      queue.emplace(found[cable.peer], cable.peer);
    }
  }
  return found;
}

// The switches from which the farthest is nearest, and of them those from which all together are.
const MulticastTrees::Switches& MulticastTrees::middles(const Switches& of) {
  const auto [at, is_new] = middles_.try_emplace(of);
  Switches& best = at->second;
  if (!is_new) return best;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> cost(graph_.cables.size());
  for (const std::uint32_t sw : of) {
    const auto& from = distances(sw);
    for (std::size_t i = 0; i < cost.size(); ++i) {
      cost[i].first = std::max<std::uint32_t>(cost[i].first, from[i]);
      cost[i].second += from[i];
    }
  }
  const auto least = *std::ranges::min_element(cost);
  for (std::uint32_t i = 0; i < cost.size(); ++i) {
    if (cost[i] == least) best.push_back(i);
  }
  return best;
}

void MulticastTrees::grow_one(std::uint32_t root, const Switches& leaves, std::span<const MulticastPlace> members,
                              std::uint32_t seed, MulticastTree& tree) {
  const auto& depth = distances(root);
  struct Branch {
    const SwitchGraph::Cable* up = nullptr;
    std::size_t receivers = 0;  // behind it
  };
  std::map<std::uint32_t, Branch> branches{{root, {}}};
  // From each leaf towards the root, until the tree is met.
  for (const std::uint32_t leaf : leaves) {
    for (std::uint32_t sw = leaf; !branches.contains(sw);) {
      const SwitchGraph::Cable* up = nullptr;
      const auto worth = [&](const SwitchGraph::Cable& cable) {
        return std::tuple(!branches.contains(cable.peer), mix(seed, cable.peer, 0), mix(seed, sw, cable.port));
      };
      for (const SwitchGraph::Cable& cable : graph_.cables[sw]) {
        if (depth[cable.peer] != kFar && depth[cable.peer] + length(cable) == depth[sw] &&
            (up == nullptr || worth(cable) < worth(*up)))
          up = &cable;
      }
      branches[sw].up = up;
      sw = up->peer;
    }
  }
  std::size_t receivers = 0;
  for (const MulticastPlace& member : members) {
    if (depth[member.sw] == kFar) continue;
    tree[member.sw].set(member.port, tree[member.sw][member.port] || member.receives);
    if (!member.receives) continue;
    ++receivers;
    for (std::uint32_t sw = member.sw;;) {
      const Branch& branch = branches.at(sw);
      ++branches.at(sw).receivers;
      if (branch.up == nullptr) break;
      sw = branch.up->peer;
    }
  }
  // A cable carries only what a member behind it gets.
  for (const auto& [sw, branch] : branches) {
    PortSet& own = tree[sw];
    if (branch.up == nullptr) continue;
    if (branch.receivers < receivers) own.set(branch.up->port);
    if (branch.receivers > 0) tree[branch.up->peer].set(branch.up->peer_port);
  }
}

MulticastTree MulticastTrees::grow(std::span<const MulticastPlace> members, std::uint32_t seed) {
  MulticastTree tree;
  Switches waiting;
  for (const MulticastPlace& member : members) waiting.push_back(member.sw);
  std::ranges::sort(waiting);
  waiting.erase(std::ranges::unique(waiting).begin(), waiting.end());
  while (!waiting.empty()) {
    const auto& reached = distances(waiting.front());
    Switches leaves, others;
    for (const std::uint32_t sw : waiting) (reached[sw] == kFar ? others : leaves).push_back(sw);
    const Switches& roots = middles(leaves);
    const std::uint32_t root =
        *std::ranges::min_element(roots, {}, [seed](std::uint32_t sw) { return mix(seed, sw, 1); });
    grow_one(root, leaves, members, seed, tree);
    waiting = std::move(others);
  }
  std::erase_if(tree, [](const auto& entry) { return entry.second.none(); });
  return tree;
}

AttachedSwitches attached_switches(const AdministeredSubnet& subnet) {
  AttachedSwitches found;
  for (std::uint32_t n = 0; n < subnet.nodes().size(); ++n) {
    if (subnet.nodes()[n].is_switch()) found.nodes.push_back(n);
  }
  std::ranges::sort(found.nodes, {}, [&](std::uint32_t n) { return subnet.nodes()[n].info.node_guid; });
  for (std::uint32_t i = 0; i < found.nodes.size(); ++i) found.switch_of_node.emplace(found.nodes[i], i);
  found.graph.cables.resize(found.nodes.size());
  for (std::uint32_t i = 0; i < found.nodes.size(); ++i) {
    const AdministeredSubnet::Node& node = subnet.nodes()[found.nodes[i]];
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
      const AdministeredSubnet::Port& port = node.ports[p];
      const auto peer = found.switch_of_node.find(port.peer);
      if (peer == found.switch_of_node.end() || peer->second == i || port.info.state != PortState::active) continue;
      const AdministeredSubnet::Node& other = subnet.nodes()[port.peer];
      if (port.peer_port >= other.ports.size() || other.ports[port.peer_port].info.state != PortState::active) continue;
      found.graph.cables[i].push_back({.port = static_cast<std::uint8_t>(p),
                                       .peer = peer->second,
                                       .peer_port = port.peer_port,
                                       .is_avoided = subnet.is_avoided(node, static_cast<unsigned>(p))});
    }
  }
  return found;
}

std::vector<MulticastPlace> places_of(const AdministeredSubnet& subnet, const AttachedSwitches& switches,
                                      const MulticastMembers& group) {
  std::vector<MulticastPlace> places;
  for (const MulticastMembers::Member& member : group.members) {
    const std::uint32_t at = subnet.find(member.port);
    if (at == AdministeredSubnet::kNone) continue;
    const AdministeredSubnet::EndPort& end = subnet.end_ports()[at];
    const AdministeredSubnet::Node& node = subnet.nodes()[end.node];
    if (node.is_switch()) {
      places.push_back({switches.switch_of_node.at(end.node), 0, member.receives});
      continue;
    }
    const AdministeredSubnet::Port& port = node.ports[end.number];
    const auto peer = switches.switch_of_node.find(port.peer);
    if (peer == switches.switch_of_node.end() || !port.info.link_up()) continue;
    places.push_back({peer->second, port.peer_port, member.receives});
  }
  return places;
}

}  // namespace railweave::fabric::infiniband
