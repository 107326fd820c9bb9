#include "fabric/drivers/infiniband/keyed_port.h"

#include "fabric/drivers/infiniband/mad/smp.h"

namespace railweave::fabric::infiniband {

namespace {

PortRef key_port(const SubnetNode& node, std::uint8_t port) {
  return {node.guid(), node.is_switch() ? std::uint8_t{0} : port};
}

// Reading needs no key, as ports hide no more than the key itself: PortInfo says it only to who shows it.
bool shows_key(const MadHeader& header) {
  if (header.management_class != MadClass::subnetDirected && header.management_class != MadClass::subnetLidRouted) {
    return false;
  }
  return header.method == MadMethod::set || header.method == MadMethod::trapRepress ||
         (header.method == MadMethod::get && header.attribute == Attribute::portInfo);
}

}  // namespace

std::optional<PortRef> key_port_at(const SubnetMap& map, const DirectedRoute& route) {
  if (map.here == kNoNode) return std::nullopt;
  std::uint32_t at = map.here;
  std::uint8_t arrived = map.here_port;
  for (std::size_t i = 0; i < route.hops(); ++i) {
    const auto& ports = map.nodes[at].ports;
    if (route.hop(i) >= ports.size() || ports[route.hop(i)].peer == kNoNode) return std::nullopt;
    const SubnetPort& out = ports[route.hop(i)];
    at = out.peer;
    arrived = out.peer_port;
  }
  return key_port(map.nodes[at], arrived);
}

std::optional<PortRef> key_port_of(const SubnetMap& map, Lid lid) {
  for (const auto& node : map.nodes) {
    for (std::size_t port = 0; node.present && port < node.ports.size(); ++port) {
      if (node.ports[port].read && node.ports[port].info.lid == lid) {
        return key_port(node, static_cast<std::uint8_t>(port));
      }
    }
  }
  return std::nullopt;
}

Result<void> KeyedPort::send(const MadAddress& to, const Mad& mad, Milliseconds answer_within) {
  const MadHeader header = read_header(mad);
  if (!book_.is_on() || !shows_key(header) || management_key(mad) != 0) return port_->send(to, mad, answer_within);
  const bool directed = header.management_class == MadClass::subnetDirected;
  const auto device = directed ? key_port_at(map_, route_of(mad)) : key_port_of(map_, to.lid);
  const std::uint64_t key = device ? book_.shown(*device) : 0;
  if (key == 0) return port_->send(to, mad, answer_within);
  Mad keyed = mad;
  set_management_key(keyed, key);
  return port_->send(to, keyed, answer_within);
}

}  // namespace railweave::fabric::infiniband
