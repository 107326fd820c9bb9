#include "tests/simulation/table_walk.h"

#include <algorithm>
#include <functional>

namespace railweave::simulation {
namespace {

using Cable = SimulatedSubnet::Cable;
constexpr unsigned kActive = 4;
using Channel = std::pair<int, unsigned>;  // a directed link: node and port that packets leave by

// Follows the edges; "" or a circle among them.
std::string find_circle(const std::map<Channel, std::set<Channel>>& after) {
  std::map<Channel, int> colour;  // 1: on the way, 2: done
  std::string found;
  const std::function<void(const Channel&)> visit = [&](const Channel& at) {
    colour[at] = 1;
    const auto next = after.find(at);
    if (next != after.end()) {
      for (const auto& to : next->second) {
        if (!found.empty()) return;
        if (colour[to] == 1) found = "node " + std::to_string(to.first) + " port " + std::to_string(to.second);
        if (colour[to] == 0) visit(to);
      }
    }
    colour[at] = 2;
  };
  for (const auto& [from, to] : after) {
    if (colour[from] == 0 && found.empty()) visit(from);
  }
  return found;
}

}  // namespace

Walked walk_tables(SimulatedSubnet& network) {
  Walked walked;
  MemorySubnet& subnet = network.subnet;
  const auto passes = [&](int node, unsigned port) {
    const auto& own = subnet.node(node).ports[port];
    return own.peer >= 0 && own.state == kActive && subnet.node(own.peer).ports[own.peer_port].state == kActive;
  };
  std::map<Channel, std::set<Channel>> after;
  for (const int to : network.adapters()) {
    const unsigned lid = subnet.node(to).ports[1].lid;
    if (lid == 0) continue;
    for (const int from : network.adapters()) {
      if (from == to || !passes(from, 1)) continue;
      const Walked::Pair pair{from, to};
      const std::string text = network.name(from) + " to " + network.name(to);
      Channel last{from, 1};
      std::set<int> visited;
      int at = subnet.node(from).ports[1].peer;
      for (std::size_t hops = 0; at >= 0 && at != to; ++hops) {
        if (hops > network.switches().size()) {
          // A switch that does not answer cannot be told that routes have changed.
          const bool is_known = std::ranges::any_of(visited, [&](int sw) { return network.unheard.contains(sw); });
          (is_known ? walked.silent_loop : walked.loop) = text;
          break;
        }
        if (!network.is_switch(at)) break;  // an adapter forwards nothing
        const auto& sw = subnet.node(at);
        visited.insert(at);
        const unsigned out = lid > sw.linear_top ? 255 : sw.lft[lid];
        if (out == 0 || out >= sw.ports.size() || !passes(at, out)) break;
        after[last].insert({at, out});
        last = {at, out};
        const int next = sw.ports[out].peer;
        if (hops > 0 && next != to) walked.through.emplace(at, pair);
        if (network.is_switch(next)) walked.carried.emplace(network.cable_at(at, out), pair);
        at = next;
      }
      if (at == to) walked.delivered.insert(pair);
    }
  }
  walked.credits = find_circle(after);
  return walked;
}

std::set<Walked::Pair> joined_pairs(SimulatedSubnet& network, const std::set<const Cable*>& without) {
  std::set<Walked::Pair> pairs;
  for (const int from : network.adapters()) {
    std::set<int> seen{from};
    std::vector<int> queue{from};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (i > 0 && !network.is_switch(queue[i])) {
        pairs.insert({from, queue[i]});
        continue;
      }
      for (const Cable& cable : network.cables) {
        if (!cable.is_up || without.contains(&cable) || (cable.a != queue[i] && cable.b != queue[i])) continue;
        const int peer = cable.a == queue[i] ? cable.b : cable.a;
        if (seen.insert(peer).second) queue.push_back(peer);
      }
    }
  }
  return pairs;
}

}  // namespace railweave::simulation
