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
  if (nobody_here_) {
    return fail(ErrorKind::unavailable, "ib.nobodyHere", "the local adapter does not answer NodeInfo");
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
      nobody_here_ = true;
      return;
    }
    const NodeInfo info = read_node_info(attribute_bytes(*reply.mad));
    map_.here_port = info.local_port;
    arrived({}, {}, info);
  });
}

// Asks who is at the other end of a cable.
void SubnetSweep::probe(Way way) {
  const SubnetNode& from = map_.nodes[way.from];
  if (!from.route.can_extend()) return;
  if (from.ports[way.port].linked_in == map_.sweep) return;  // the other end was faster
  const DirectedRoute route = from.route.extended(way.port);
  ask(MadExchange::kNoDevice, route, Attribute::nodeInfo, 0, [this, way](Reply reply) {
    if (!reply.ok()) {
      map_.silent.push_back({Guid(), map_.nodes[way.from].guid(), way.port, "NodeInfo"});
      return;
    }
    arrived(way, map_.nodes[way.from].route.extended(way.port), read_node_info(attribute_bytes(*reply.mad)));
  });
}

void SubnetSweep::arrived(Way way, const DirectedRoute& route, const NodeInfo& info) {
  const std::size_t known_before = map_.nodes.size();
  const std::uint32_t node = node_for(info);
  const bool unknown = node >= known_before || !map_.nodes[node].present || options_.sign == ChangeSign::everything;
  if (way.from == kNoNode) map_.here = node;
  if (info.local_port >= map_.nodes[node].ports.size()) return;  // it contradicts itself
  link(way, node, info.local_port);
  if (info.type != NodeType::networkSwitch) map_.nodes[node].ports[info.local_port].guid = info.port_guid;
  if (!seen(node)) {
    map_.nodes[node].seen_in = map_.sweep;
    map_.nodes[node].route = route;
    visit(node, unknown);
  } else if (!map_.nodes[node].is_switch()) {
    read_port(node, info.local_port);  // another port of an adapter that is known by now
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

void SubnetSweep::link(Way way, std::uint32_t node, std::uint8_t port) {
  if (way.from == kNoNode) return;
  const auto set = [this](std::uint32_t at, std::uint8_t at_port, std::uint32_t peer, std::uint8_t peer_port) {
    SubnetPort& end = map_.nodes[at].ports[at_port];
    if (end.peer != peer || end.peer_port != peer_port) changed_ = true;
    end.peer = peer;
    end.peer_port = peer_port;
    end.linked_in = map_.sweep;
  };
  set(way.from, way.port, node, port);
  set(node, port, way.from, way.port);
}

void SubnetSweep::visit(std::uint32_t node, bool unknown) {
  if (unknown) read_description(node);
  if (map_.nodes[node].is_switch()) {
    read_switch(node, unknown);
    return;
  }
  // Of adapters, the port by which we came; nothing is forwarded through them.
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
  // An adapter's port is best asked through itself: our own way in may be another one of its ports.
  DirectedRoute route = asked.route;
  if (!asked.is_switch() && asked.ports[port].peer != kNoNode) {
    const SubnetNode& peer = map_.nodes[asked.ports[port].peer];
    if (node != map_.here && peer.route.can_extend()) route = peer.route.extended(asked.ports[port].peer_port);
  }
  ask(device_key(node), route, Attribute::portInfo, port, [this, node, port](Reply reply) {
    if (!reply.ok()) return note_silent(node, "PortInfo");
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

// A switch that says that nothing changed: its ports and cables are as they were. Behind a port that is up somebody may
// have been silent the last time.
void SubnetSweep::walk_known(std::uint32_t node) {
  for (std::size_t port = 0; port < map_.nodes[node].ports.size(); ++port) {
    SubnetPort& at = map_.nodes[node].ports[port];
    at.read_in = map_.sweep;
    const Way way{node, static_cast<std::uint8_t>(port)};
    if (at.peer != kNoNode) {
      follow(way);
    } else if (port != 0 && at.read && at.info.link_up()) {
      probe(way);
    }
  }
}

// Along a known cable: adapters are taken as known, switches are asked what changed.
void SubnetSweep::follow(Way way) {
  const SubnetPort& end = map_.nodes[way.from].ports[way.port];
  if (end.linked_in == map_.sweep) return;
  const std::uint32_t node = end.peer;
  if (seen(node)) return confirm(way);
  if (const auto waiting = pending_.find(node); waiting != pending_.end()) {
    waiting->second.push_back(way);
    return;
  }
  if (!map_.nodes[way.from].route.can_extend()) return;
  if (map_.nodes[node].is_switch()) {
    pending_.try_emplace(node);
    try_way(node, way);
    return;
  }
  map_.nodes[node].seen_in = map_.sweep;
  map_.nodes[node].route = map_.nodes[way.from].route.extended(way.port);
  confirm(way);
}

void SubnetSweep::confirm(Way way) {
  SubnetPort& end = map_.nodes[way.from].ports[way.port];
  end.linked_in = map_.sweep;
  map_.nodes[end.peer].ports[end.peer_port].linked_in = map_.sweep;
}

// NodeInfo, not SwitchInfo, so that another device on the cable is seen as such.
void SubnetSweep::try_way(std::uint32_t node, Way way) {
  const DirectedRoute route = map_.nodes[way.from].route.extended(way.port);
  ask(MadExchange::kNoDevice, route, Attribute::nodeInfo, 0, [this, node, way, route](Reply reply) {
    std::vector<Way>& others = pending_[node];
    if (!reply.ok()) {
      map_.silent.push_back({map_.nodes[node].guid(), map_.nodes[way.from].guid(), way.port, "NodeInfo"});
      if (others.empty()) {
        pending_.erase(node);
        return;
      }
      const Way next = others.back();
      others.pop_back();
      try_way(node, next);
      return;
    }
    const std::vector<Way> rest = std::move(others);
    pending_.erase(node);
    arrived(way, route, read_node_info(attribute_bytes(*reply.mad)));
    for (const Way& other : rest) follow(other);
  });
}

void SubnetSweep::note_silent(std::uint32_t node, const char* question) {
  const SubnetNode& asked = map_.nodes[node];
  for (const auto& device : map_.silent) {
    if (device.guid == asked.guid()) return;  // named once
  }
  map_.silent.push_back({asked.guid(), Guid(), 0, question});
}

// What this sweep did not see is gone.
void SubnetSweep::finish() {
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
