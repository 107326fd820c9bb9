#include "services/rest/json/link_value.h"

#include <utility>

#include <fmt/core.h>

#include "services/json/contract_object.h"

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
  const PortOwner owner = topology.owner(port);
  const bool is_hca = owner.kind == DeviceKind::hca, is_gpu = owner.kind == DeviceKind::gpu;
  const HostId host = is_hca   ? topology.host(HcaId(owner.index))
                      : is_gpu ? topology.host(GpuId(owner.index))
                               : HostId();
  return object<"LinkEnd">(
      with<"port">(topology.port_text(port)), with<"portName">(port_name(topology, port)),
      maybe<"switch">(owner.kind == DeviceKind::network_switch, [&] { return topology.name(SwitchId(owner.index)); }),
      maybe<"node">(bool(host), [&] { return topology.name(host); }),
      maybe<"device">(is_hca, [&] { return topology.device(HcaId(owner.index)); }),
      maybe<"gpu">(is_gpu, [&] { return topology.local_index(GpuId(owner.index)); }),
      maybe<"nvlinkDomain">(owner.kind == DeviceKind::nvlink_domain,
                            [&] { return topology.name(NvlinkDomainId(owner.index)); }),
      without<"site">());
}

}  // namespace railweave::api
