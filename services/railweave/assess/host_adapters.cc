#include "services/railweave/assess/host_adapters.h"

#include <algorithm>
#include <set>

#include "fabric/base/natural_order.h"

namespace railweave::cli {
namespace {

bool is_for_jobs(const fabric::Topology& t, fabric::PortId port) {
  const fabric::SubnetId subnet = t.subnet(port);
  if (!subnet) return true;
  return t.kind(subnet) != fabric::SubnetKind::storage && t.kind(subnet) != fabric::SubnetKind::management;
}

}  // namespace

bool HostAdapters::named() const {
  return std::ranges::none_of(ports, [](const AdapterPort& port) { return port.device.empty(); });
}

std::size_t HostAdapters::compute_ports() const {
  return static_cast<std::size_t>(std::ranges::count_if(ports, &AdapterPort::compute));
}

double HostAdapters::compute_gbps() const {
  double gbps = 0;
  for (const AdapterPort& port : ports) gbps += port.compute ? port.gbps : 0;
  return gbps;
}

bool HostAdapters::on_rails() const {
  std::set<fabric::SwitchId> leaves;
  for (const AdapterPort& port : ports) {
    if (port.compute && port.leaf) leaves.insert(port.leaf);
  }
  return leaves.size() > 1;
}

std::string HostAdapters::compute_list() const {
  std::string text = "=";
  std::set<std::string> listed;
  for (const AdapterPort& port : ports) {
    if (port.compute && listed.insert(port.device).second) text += (listed.size() == 1 ? "" : ",") + port.device;
  }
  return text;
}

HostAdapters adapters_of(const fabric::Topology& t, fabric::HostId host) {
  HostAdapters adapters{.host = std::string(t.name(host)), .ports = {}};
  for (const fabric::HcaId hca : t.hcas(host)) {
    for (const fabric::PortId port : t.ports(hca)) {
      const fabric::PortId peer = t.peer(port);
      if (!peer) continue;
      adapters.ports.push_back({.device = std::string(t.device(hca)),
                                .number = t.number(port),
                                .leaf = t.switch_of(peer),
                                .gbps = t.rate(t.link(port)).gbps(),
                                .compute = is_for_jobs(t, port)});
    }
  }
  std::ranges::stable_sort(adapters.ports, NaturalLess(), &AdapterPort::device);
  return adapters;
}

fabric::HostId host_named(const fabric::Topology& t, const std::string& name) {
  if (const fabric::HostId host = t.find_host(name)) return host;
  return t.find_host(name.substr(0, name.find('.')));
}

}  // namespace railweave::cli
