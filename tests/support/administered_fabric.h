// A fabric as the subnet's administration knows it, made from a topology and its routes instead of from devices that were asked: for
// tests and benchmarks. Ports have the topology's speeds and LIDs, and packets of up to 4096 bytes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric::infiniband::testing {

class AdministeredFabric {
 public:
  // mtu_code, of each port.
  using MtuOf = std::uint8_t (*)(PortId);
  AdministeredFabric(const Routing& routing, std::uint64_t key, MtuOf mtu_of,
                     std::shared_ptr<const std::vector<PortTables>> tables = nullptr,
                     std::vector<PartitionService> partitions = {}) {
    const RoutingScope& scope = routing.tables.scope();
    const Topology& t = scope.topology();
    std::vector<AdministeredSubnet::Node> nodes;
    for (const SwitchId sw : t.switches()) {
      auto& node = nodes.emplace_back(device(NodeType::networkSwitch, t.guid(sw), t.ports(sw).size(), t.name(sw)));
      node.sw = sw;
      node.ports[0] = {.info = {}, .guid = t.guid(sw), .is_read = true};
      node.ports[0].info.lid = scope.lid(sw);
      node.ports[0].info.mtu_capacity = 5;
      node.ports[0].info.capabilities = PortInfo::kExtendedSpeeds;
      for (const PortId port : t.ports(sw)) set_port(node.ports[t.number(port)], t, port, mtu_of);
    }
    for (const HcaId hca : t.hcas()) {
      auto& node =
          nodes.emplace_back(device(NodeType::channelAdapter, t.guid(hca), t.ports(hca).size(), t.description(hca)));
      for (const PortId port : t.ports(hca)) {
        auto& end = node.ports[t.number(port)];
        set_port(end, t, port, mtu_of);
        end.guid = t.port_guid(port);
        end.info.lid = scope.find(port) ? scope.lid(scope.find(port)) : Lid{0};
        end.info.lmc = t.lmc(port);
        end.info.capabilities = PortInfo::kExtendedSpeeds;
      }
    }
    connect(nodes, t);
    Lid first = 0;
    for (const PortId port : t.hca_ports()) {
      if (first == 0 && scope.find(port)) first = scope.lid(scope.find(port));
    }
    subnet_ = std::make_shared<const AdministeredSubnet>(
        std::move(nodes), AdministeredSubnet::Manager{.lid = first, .info = {}, .key = key}, routing,
        std::move(partitions), std::move(tables));
  }
  [[nodiscard]] const AdministeredSubnet& subnet() const { return *subnet_; }

 private:
  static AdministeredSubnet::Node device(NodeType type, Guid guid, std::size_t ports, std::string_view name) {
    AdministeredSubnet::Node node;
    node.info.type = type;
    node.info.ports = static_cast<std::uint8_t>(ports);
    node.info.node_guid = node.info.system_guid = guid;
    node.description = std::string(name);
    node.ports.resize(ports + 1);
    node.switch_info.multicast_capacity = 1024;
    return node;
  }
  // What each port's cable leads to.
  static void connect(std::vector<AdministeredSubnet::Node>& nodes, const Topology& t) {
    std::map<PortId, std::uint32_t> node_of;
    std::uint32_t n = 0;
    for (const SwitchId sw : t.switches()) {
      for (const PortId port : t.ports(sw)) node_of[port] = n;
      ++n;
    }
    for (const HcaId hca : t.hcas()) {
      for (const PortId port : t.ports(hca)) node_of[port] = n;
      ++n;
    }
    for (const auto& [port, node] : node_of) {
      if (!t.peer(port)) continue;
      nodes[node].ports[t.number(port)].peer = node_of.at(t.peer(port));
      nodes[node].ports[t.number(port)].peer_port = static_cast<std::uint8_t>(t.number(t.peer(port)));
    }
  }
  static void set_port(AdministeredSubnet::Port& port, const Topology& t, PortId id, MtuOf mtu_of) {
    port.is_read = true;
    port.info.state = t.peer(id) ? PortState::active : PortState::down;
    if (!t.peer(id)) return;
    const LinkSpec link = t.spec(t.link(id));
    port.info.width_active = link.width == 4 ? 2 : 1;
    port.info.extended_speed_active = link.speed == LinkSpeed::ndr ? 8 : link.speed == LinkSpeed::hdr ? 4 : 2;
    port.info.neighbor_mtu = mtu_of(id);
  }

  AdministeredSubnetPtr subnet_;
};

}  // namespace railweave::fabric::infiniband::testing
