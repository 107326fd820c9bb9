#include "fabric/drivers/infiniband/switch_look.h"

#include <algorithm>
#include <utility>

#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric::infiniband {

void take_entries(std::vector<std::uint16_t>& ports, std::uint32_t block, const LftEntries& entries) {
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const std::size_t lid = block * kLftBlockEntries + e;
    if (lid < ports.size() && entries[e] != kLftDropsPacket) ports[lid] = entries[e];
  }
}

void drop_above(std::vector<std::uint16_t>& ports, Lid top) {
  for (std::size_t lid = top + std::size_t{1}; lid < ports.size(); ++lid) ports[lid] = kNoPort;
}

Result<std::vector<SwitchSight>> SwitchLook::run(std::span<const SwitchId> switches) {
  for (const SwitchId sw : switches) {
    const auto found = map_.by_guid.find(topology_.guid(sw));
    const bool is_known = found != map_.by_guid.end() && map_.nodes[found->second].present;
    SwitchSight& sight = sights_.emplace_back();
    sight.table = {.sw = sw, .answered = is_known, .ports = {}};
    sight.table.ports.assign(top_ + std::size_t{1}, kNoPort);
    sight.ports.resize(topology_.ports(sw).size() + 1);
    nodes_.push_back(is_known ? found->second : kNoNode);
    tops_.push_back(0);
  }
  for (std::size_t i = 0; i < sights_.size(); ++i) {
    if (sights_[i].table.answered) look(i);
  }
  if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
  for (std::size_t i = 0; i < sights_.size(); ++i) drop_above(sights_[i].table.ports, tops_[i]);
  return std::move(sights_);
}

void SwitchLook::ask(std::size_t i, Attribute attribute, std::uint32_t modifier,
                     std::function<void(AttributeBytes)> take) {
  exchange_.submit(nodes_[i] + std::uint64_t{1}, MadAddress::directed(),
                   directed_smp(map_.nodes[nodes_[i]].route, MadMethod::get, attribute, modifier),
                   [this, i, take = std::move(take)](Reply reply) {
                     if (!reply.ok()) {
                       sights_[i].table.answered = false;
                     } else {
                       take(attribute_bytes(*reply.mad));
                     }
                   });
}

void SwitchLook::look(std::size_t i) {
  ask(i, Attribute::nodeInfo, 0, [this, i](AttributeBytes data) {
    // Another device may be there by now.
    if (read_node_info(data).node_guid != topology_.guid(sights_[i].table.sw)) sights_[i].table.answered = false;
  });
  ask(i, Attribute::switchInfo, 0, [this, i](AttributeBytes data) { tops_[i] = read_switch_info(data).linear_top; });
  for (std::uint32_t block = 0; block <= top_ / kLftBlockEntries; ++block) {
    ask(i, Attribute::linearForwardingTable, block,
        [this, i, block](AttributeBytes data) { take_entries(sights_[i].table.ports, block, read_lft_block(data)); });
  }
  const std::size_t ports = std::min(map_.nodes[nodes_[i]].ports.size(), sights_[i].ports.size());
  for (std::size_t port = 1; port < ports; ++port) look_at_port(i, static_cast<std::uint8_t>(port));
}

void SwitchLook::look_at_port(std::size_t i, std::uint8_t port) {
  ask(i, Attribute::portInfo, port, [this, i, port](AttributeBytes data) {
    const PortInfo info = read_port_info(data);
    sights_[i].ports[port].up = info.link_up();
    sights_[i].ports[port].active = info.state == PortState::active;
    if (info.link_up() && map_.nodes[nodes_[i]].route.can_extend()) look_behind(i, port);
  });
}

// Who is behind does not answer for the switch: its silence leaves the peer unknown.
void SwitchLook::look_behind(std::size_t i, std::uint8_t port) {
  const DirectedRoute route = map_.nodes[nodes_[i]].route.extended(port);
  exchange_.submit(MadExchange::kNoDevice, MadAddress::directed(),
                   directed_smp(route, MadMethod::get, Attribute::nodeInfo, 0), [this, i, port, route](Reply reply) {
                     if (!reply.ok()) return;
                     const NodeInfo peer = read_node_info(attribute_bytes(*reply.mad));
                     sights_[i].ports[port].peer = peer.node_guid;
                     sights_[i].ports[port].peer_port = peer.local_port;
                     if (peer.type == NodeType::networkSwitch) return;
                     exchange_.submit(MadExchange::kNoDevice, MadAddress::directed(),
                                      directed_smp(route, MadMethod::get, Attribute::portInfo, peer.local_port),
                                      [this, i, port](Reply end) {
                                        if (!end.ok()) return;
                                        const PortInfo info = read_port_info(attribute_bytes(*end.mad));
                                        sights_[i].ports[port].peer_lid = info.lid;
                                      });
                   });
}

}  // namespace railweave::fabric::infiniband
