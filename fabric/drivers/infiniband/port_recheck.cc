#include "fabric/drivers/infiniband/port_recheck.h"

#include <algorithm>
#include <vector>

namespace railweave::fabric::infiniband {
PortRecheck::PortRecheck(MadPort& port, SubnetMap& map, const ExchangeOptions& options)
    : map_(map), exchange_(port, options.impatient()) {}  // devices behind a dead link are found by the next sweep

Result<bool> PortRecheck::run(std::span<const Guid> switches) {
  std::vector<std::uint32_t> nodes;
  for (const Guid guid : switches) {
    const auto found = map_.by_guid.find(guid);
    if (found == map_.by_guid.end() || !map_.nodes[found->second].present || !map_.nodes[found->second].is_switch()) {
      return false;
    }
    if (std::ranges::find(nodes, found->second) == nodes.end()) nodes.push_back(found->second);
  }
  // The nearest first: a dead link at one of them changes the routes to those behind.
  while (!nodes.empty()) {
    std::ranges::sort(nodes, {}, [this](std::uint32_t node) { return map_.nodes[node].route.hops(); });
    const std::size_t hops = map_.nodes[nodes.front()].route.hops();
    while (!nodes.empty() && map_.nodes[nodes.front()].route.hops() == hops) {
      read(nodes.front());
      nodes.erase(nodes.begin());
    }
    if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
    if (!enough_) return false;
    if (changed_) find_routes(map_);
    if (std::ranges::any_of(nodes, [this](std::uint32_t node) { return !map_.nodes[node].present; })) return false;
  }
  return true;
}

void PortRecheck::read(std::uint32_t node) {
  for (std::size_t port = 1; port < map_.nodes[node].ports.size(); ++port) {
    exchange_.submit(
        node + std::uint64_t{1}, MadAddress::directed(),
        directed_smp(map_.nodes[node].route, MadMethod::get, Attribute::portInfo, static_cast<std::uint32_t>(port)),
        [this, node, port](const MadReply& reply) {
          if (!reply.ok()) {
            enough_ = false;
            return;
          }
          took(node, static_cast<std::uint8_t>(port), read_port_info(attribute_bytes(*reply.mad)));
        });
  }
}

void PortRecheck::took(std::uint32_t node, std::uint8_t port, const PortInfo& info) {
  SubnetPort& at = map_.nodes[node].ports[port];
  const bool was_up = at.peer != kNoNode;
  // A port that trained again may have another cable by now.
  const bool has_trained = at.read && info.state == PortState::initialize && at.info.state > PortState::initialize;
  if (info.link_up() && (!was_up || has_trained)) enough_ = false;
  changed_ = changed_ || !at.info.same_link(info);
  at.info = info;
  at.read = true;
  if (info.link_up() || !was_up) return;
  SubnetPort& other = map_.nodes[at.peer].ports[at.peer_port];
  other.peer = kNoNode;
  at.peer = kNoNode;
  changed_ = true;
}

void find_routes(SubnetMap& map) {
  for (auto& node : map.nodes) {
    if (node.present) node.present = false;
  }
  if (map.here == kNoNode) return;
  std::vector<std::uint32_t> queue{map.here};
  map.nodes[map.here].present = true;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const SubnetNode& from = map.nodes[queue[i]];
    if (!from.route.can_extend()) continue;
    for (std::size_t port = 1; port < from.ports.size(); ++port) {
      // Adapters forward nothing; the local one sends by the local port only.
      if (!from.is_switch() && (queue[i] != map.here || port != map.here_port)) continue;
      const std::uint32_t peer = from.ports[port].peer;
      if (peer == kNoNode || map.nodes[peer].present) continue;
      SubnetNode& to = map.nodes[peer];
      to.present = true;
      to.route = from.route.extended(static_cast<std::uint8_t>(port));
      queue.push_back(peer);
    }
  }
}

}  // namespace railweave::fabric::infiniband
