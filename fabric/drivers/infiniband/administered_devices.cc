#include "fabric/drivers/infiniband/administered_devices.h"

#include "fabric/topology/topology.h"

namespace railweave::fabric::infiniband {

std::vector<AdministeredSubnet::Node> administered_devices(const SubnetMap& map, const Topology& topology) {
  std::vector<std::uint32_t> place(map.nodes.size(), AdministeredSubnet::kNone);
  std::uint32_t count = 0;
  for (std::size_t n = 0; n < map.nodes.size(); ++n) {
    if (map.nodes[n].present) place[n] = count++;
  }
  std::vector<AdministeredSubnet::Node> devices;
  devices.reserve(count);
  for (const SubnetNode& node : map.nodes) {
    if (!node.present) continue;
    AdministeredSubnet::Node device{.info = node.info,
                                    .description = node.description,
                                    .switch_info = node.switch_info,
                                    .ports = {},
                                    .sw = node.is_switch() ? topology.find_switch(node.guid()) : SwitchId()};
    device.ports.reserve(node.ports.size());
    for (const SubnetPort& port : node.ports) {
      device.ports.push_back({.info = port.info,
                              .guid = port.guid,
                              .is_read = port.read,
                              .peer = port.peer == kNoNode ? AdministeredSubnet::kNone : place[port.peer],
                              .peer_port = port.peer_port});
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace railweave::fabric::infiniband
