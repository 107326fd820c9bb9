#include "fabric/drivers/infiniband/subnet_sweep.h"

#include <utility>

namespace railweave::fabric::infiniband {

namespace {

// Devices in the exchange's books: nodes count from 1.
MadExchange::DeviceKey device_key(std::uint32_t node) { return node + std::uint64_t{1}; }

}  // namespace

SubnetSweep::SubnetSweep(MadPort& port, SubnetMap& map, const SweepOptions& options)
    : map_(map), options_(options), exchange_(port, options.exchange) {}

Result<void> SubnetSweep::run() {
  ++map_.sweep;
  map_.silent.clear();
  start();
  if (auto ran = exchange_.run(); !ran) return ran;
  if (local_is_silent_) {
    return fail(ErrorKind::unavailable, "ib.noLocalNode", "the local adapter does not answer NodeInfo");
  }
  finish();
  return {};
}

void SubnetSweep::ask(MadExchange::DeviceKey device, const DirectedRoute& route, Attribute attribute,
                      std::uint32_t modifier, MadExchange::Completion completion) {
  exchange_.submit(device, MadAddress::directed(), directed_smp(route, MadMethod::get, attribute, modifier),
                   std::move(completion));
}

void SubnetSweep::start() {
  ask(MadExchange::kNoDevice, {}, Attribute::nodeInfo, 0, [this](Reply reply) {
    if (!reply.ok()) {
      local_is_silent_ = true;
      return;
    }
    const NodeInfo info = read_node_info(attribute_bytes(*reply.mad));
    map_.here_port = info.local_port;
    arrived({}, {}, info);
  });
}

// Asks which node is at the other end of a cable.
void SubnetSweep::probe(LastHop hop) {
  const SubnetNode& from = map_.nodes[hop.from];
  if (!from.route.can_extend()) return;
  if (from.ports[hop.port].linked_in == map_.sweep) return;  // the other end was faster
  const DirectedRoute route = from.route.extended(hop.port);
  ask(MadExchange::kNoDevice, route, Attribute::nodeInfo, 0, [this, hop](Reply reply) {
    if (!reply.ok()) {
      map_.silent.push_back({Guid(), map_.nodes[hop.from].guid(), hop.port, "NodeInfo"});
      return;
    }
    arrived(hop, map_.nodes[hop.from].route.extended(hop.port), read_node_info(attribute_bytes(*reply.mad)));
  });
}

void SubnetSweep::arrived(LastHop hop, const DirectedRoute& route, const NodeInfo& info) {
  const std::size_t known_before = map_.nodes.size();
  const std::uint32_t node = node_for(info);
  const bool unknown = node >= known_before || !map_.nodes[node].present || options_.sign == ChangeSign::everything;
  if (hop.from == kNoNode) map_.here = node;
  if (info.local_port >= map_.nodes[node].ports.size()) return;  // its answer contradicts itself
  link(hop, node, info.local_port);
  if (info.type != NodeType::networkSwitch) map_.nodes[node].ports[info.local_port].guid = info.port_guid;
  if (!seen(node)) {
    map_.nodes[node].seen_in = map_.sweep;
    map_.nodes[node].route = route;
    visit(node, unknown);
  } else if (!map_.nodes[node].is_switch()) {
    read_port(node, info.local_port);  // another port of an adapter that is already known
  }
}

std::uint32_t SubnetSweep::node_for(const NodeInfo& info) {
  const auto [at, is_new] = map_.by_guid.try_emplace(info.node_guid, static_cast<std::uint32_t>(map_.nodes.size()));
  if (is_new) map_.nodes.emplace_back();
  SubnetNode& node = map_.nodes[at->second];
  if (is_new || !node.info.same_node(info)) {
    node = {};
    node.info = info;
    node.ports.resize(info.ports + std::size_t{1});
    changed_ = true;
  }
  return at->second;
}

void SubnetSweep::link(LastHop hop, std::uint32_t node, std::uint8_t port) {
  if (hop.from == kNoNode) return;
  const auto set = [this](std::uint32_t at, std::uint8_t at_port, std::uint32_t peer, std::uint8_t peer_port) {
    SubnetPort& end = map_.nodes[at].ports[at_port];
    if (end.peer != peer || end.peer_port != peer_port) changed_ = true;
    end.peer = peer;
    end.peer_port = peer_port;
    end.linked_in = map_.sweep;
  };
  set(hop.from, hop.port, node, port);
  set(node, port, hop.from, hop.port);
}

void SubnetSweep::visit(std::uint32_t node, bool unknown) {
  if (unknown) read_description(node);
  const bool again = std::exchange(map_.nodes[node].unread, false);
  if (map_.nodes[node].is_switch()) {
    read_switch(node, unknown || again);
    return;
  }
  // The port of an adapter at which the route ends; nothing is forwarded through adapters.
  const SubnetNode& adapter = map_.nodes[node];
  if (node == map_.here) {
    read_port(node, map_.here_port);
    return;
  }
  for (std::size_t port = 1; port < adapter.ports.size(); ++port) {
    if (adapter.ports[port].linked_in == map_.sweep) read_port(node, static_cast<std::uint8_t>(port));
  }
}

void SubnetSweep::read_description(std::uint32_t node) {
  ask(device_key(node), map_.nodes[node].route, Attribute::nodeDescription, 0, [this, node](Reply reply) {
    if (!reply.ok()) return note_silent(node, "NodeDescription");
    std::string text = read_node_description(attribute_bytes(*reply.mad));
    changed_ = changed_ || text != map_.nodes[node].description;
    map_.nodes[node].description = std::move(text);
  });
}

void SubnetSweep::read_switch(std::uint32_t node, bool unknown) {
  ask(device_key(node), map_.nodes[node].route, Attribute::switchInfo, 0, [this, node, unknown](Reply reply) {
    if (!reply.ok()) return note_silent(node, "SwitchInfo");
    const AttributeBytes data = attribute_bytes(*reply.mad);
    map_.nodes[node].switch_info = read_switch_info(data);
    const SwitchInfo& info = map_.nodes[node].switch_info;
    if (!unknown && options_.sign == ChangeSign::portStateChange && !info.port_state_change) {
      walk_known(node);
      return;
    }
    if (!options_.clear_changes || !info.port_state_change) {
      read_ports(node);
      return;
    }
    // Cleared before the ports are read: what changes afterwards sets it again.
    const auto value = switch_info_to_set(data, info.linear_top, true);
    Mad set = directed_smp(map_.nodes[node].route, MadMethod::set, Attribute::switchInfo, 0);
    std::copy(value.begin(), value.end(), attribute_space(set).begin());
    exchange_.submit(device_key(node), MadAddress::directed(), set, [this, node](Reply cleared) {
      if (cleared.silent()) return note_silent(node, "SwitchInfo (Set)");
      read_ports(node);
    });
  });
}

void SubnetSweep::read_ports(std::uint32_t node) {
  const std::size_t ports = map_.nodes[node].ports.size();
  for (std::size_t port = 0; port < ports; ++port) read_port(node, static_cast<std::uint8_t>(port));
}

void SubnetSweep::read_port(std::uint32_t node, std::uint8_t port) {
  const SubnetNode& asked = map_.nodes[node];
  // An adapter's port is best asked through itself: the route to the node may end at another one of its ports.
  DirectedRoute route = asked.route;
  if (!asked.is_switch() && asked.ports[port].peer != kNoNode) {
    const SubnetNode& peer = map_.nodes[asked.ports[port].peer];
    if (node != map_.here && peer.route.can_extend()) route = peer.route.extended(asked.ports[port].peer_port);
  }
  ask(device_key(node), route, Attribute::portInfo, port, [this, node, port](Reply reply) {
    if (!reply.ok()) {
      note_silent(node, "PortInfo");
      // What is behind is where it was, for all that is known.
      if (map_.nodes[node].is_switch() && map_.nodes[node].ports[port].peer != kNoNode) follow({node, port});
      return;
    }
    took_port(node, port, read_port_info(attribute_bytes(*reply.mad)));
  });
}

void SubnetSweep::took_port(std::uint32_t node, std::uint8_t port, const PortInfo& info) {
  SubnetPort& at = map_.nodes[node].ports[port];
  const bool same = at.read && at.info.same_link(info);
  changed_ = changed_ || !at.read || at.info != info;
  at.info = info;
  at.read = true;
  at.read_in = map_.sweep;
  const bool leads_on = map_.nodes[node].is_switch() ? port != 0 : node == map_.here;
  if (!leads_on || !info.link_up()) return;
  if (options_.sign == ChangeSign::portInfo && same && at.peer != kNoNode && map_.nodes[at.peer].present) {
    follow({node, port});
  } else {
    probe({node, port});
  }
}

// A switch that reports no change: its ports and cables are as they were. A device behind a port that is up may have
// been silent in the last sweep.
void SubnetSweep::walk_known(std::uint32_t node) {
  for (std::size_t port = 0; port < map_.nodes[node].ports.size(); ++port) {
    SubnetPort& at = map_.nodes[node].ports[port];
    at.read_in = map_.sweep;
    const LastHop hop{node, static_cast<std::uint8_t>(port)};
    if (at.peer != kNoNode) {
      follow(hop);
    } else if (port != 0 && at.read && at.info.link_up()) {
      probe(hop);
    }
  }
}

// Along a known cable: adapters are assumed unchanged, switches are asked whether they changed.
void SubnetSweep::follow(LastHop hop) {
  const SubnetPort& end = map_.nodes[hop.from].ports[hop.port];
  if (end.linked_in == map_.sweep) return;
  const std::uint32_t node = end.peer;
  if (seen(node)) return confirm(hop);
  if (const auto waiting = pending_.find(node); waiting != pending_.end()) {
    waiting->second.push_back(hop);
    return;
  }
  if (!map_.nodes[hop.from].route.can_extend()) return;
  if (map_.nodes[node].is_switch()) {
    pending_.try_emplace(node);
    try_hop(node, hop);
    return;
  }
  map_.nodes[node].seen_in = map_.sweep;
  map_.nodes[node].route = map_.nodes[hop.from].route.extended(hop.port);
  confirm(hop);
  if (map_.nodes[node].unread) visit(node, true);
}

void SubnetSweep::confirm(LastHop hop) {
  SubnetPort& end = map_.nodes[hop.from].ports[hop.port];
  end.linked_in = map_.sweep;
  map_.nodes[end.peer].ports[end.peer_port].linked_in = map_.sweep;
}

// NodeInfo, not SwitchInfo, so that another device on the cable is seen as such.
void SubnetSweep::try_hop(std::uint32_t node, LastHop hop) {
  const DirectedRoute route = map_.nodes[hop.from].route.extended(hop.port);
  ask(MadExchange::kNoDevice, route, Attribute::nodeInfo, 0, [this, node, hop, route](Reply reply) {
    std::vector<LastHop>& others = pending_[node];
    if (!reply.ok()) {
      map_.silent.push_back({map_.nodes[node].guid(), map_.nodes[hop.from].guid(), hop.port, "NodeInfo"});
      if (others.empty()) {
        pending_.erase(node);
        return;
      }
      const LastHop next = others.back();
      others.pop_back();
      try_hop(node, next);
      return;
    }
    const std::vector<LastHop> rest = std::move(others);
    pending_.erase(node);
    arrived(hop, route, read_node_info(attribute_bytes(*reply.mad)));
    for (const LastHop& other : rest) follow(other);
  });
}

// What it reported as changed may be cleared by now: the next sweep reads it again, whatever it reports then.
void SubnetSweep::note_silent(std::uint32_t node, const char* question) {
  SubnetNode& asked = map_.nodes[node];
  asked.unread = true;
  for (const auto& device : map_.silent) {
    if (device.guid == asked.guid()) return;  // named once
  }
  map_.silent.push_back({asked.guid(), Guid(), 0, question});
}

// Nodes that this sweep did not see are gone; where it saw none at all, nothing is known of any.
void SubnetSweep::finish() {
  map_.blind = true;
  for (std::uint32_t n = 0; n < map_.nodes.size(); ++n) map_.blind = map_.blind && (n == map_.here || !seen(n));
  if (map_.blind && map_.present_count() > 1) return;
  for (auto& node : map_.nodes) {
    const bool present = node.seen_in == map_.sweep;
    if (present != node.present) changed_ = true;
    node.present = present;
    for (auto& port : node.ports) {
      if (port.peer == kNoNode || (present && port.linked_in == map_.sweep)) continue;
      port.peer = kNoNode;
      changed_ = true;
    }
  }
}

}  // namespace railweave::fabric::infiniband
