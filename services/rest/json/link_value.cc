#include "services/rest/json/link_value.h"

#include <utility>

#include <fmt/core.h>

namespace railweave::api {

using namespace fabric;  // NOLINT: every name here is the fabric's

std::string port_name(const Topology& topology, PortId port) {
  std::string device;
  if (const SwitchId sw = topology.switch_of(port)) {
    device = topology.name(sw);
  } else if (const HcaId hca = topology.hca_of(port); hca && topology.host(hca)) {
    device = fmt::format("{}/{}", topology.name(topology.host(hca)), topology.device(hca));
  }
  std::string name = fmt::format("{}/{}", device, topology.number(port));
  return !device.empty() && topology.find_port(name) == port ? name : topology.port_text(port);
}

std::string link_name(const Topology& topology, LinkId link) {
  PortId first = topology.a(link), second = topology.b(link);
  if (topology.port_text(second) < topology.port_text(first)) std::swap(first, second);
  std::string name = port_name(topology, first) + "--" + port_name(topology, second);
  return topology.find_link(name) == link ? name : topology.link_text(link);
}

Out link_end_json(const Topology& topology, PortId port) {
  Out value{{"port", topology.port_text(port)}, {"portName", port_name(topology, port)}};
  const PortOwner owner = topology.owner(port);
  switch (owner.kind) {
    case DeviceKind::network_switch:
      value["switch"] = topology.name(SwitchId(owner.index));
      break;
    case DeviceKind::hca: {
      const HcaId hca(owner.index);
      if (const HostId host = topology.host(hca)) value["node"] = topology.name(host);
      value["device"] = topology.device(hca);
      break;
    }
    case DeviceKind::gpu: {
      const GpuId gpu(owner.index);
      value["node"] = topology.name(topology.host(gpu));
      value["gpu"] = topology.local_index(gpu);
      break;
    }
    case DeviceKind::nvlink_domain:
      value["nvlinkDomain"] = topology.name(NvlinkDomainId(owner.index));
      break;
  }
  return value;
}

}  // namespace railweave::api
