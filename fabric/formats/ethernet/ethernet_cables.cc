#include "fabric/formats/ethernet/ethernet_cables.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {
namespace {

bool is_switch_port(std::string_view name) {
  for (const std::string_view prefix : {"Ethernet", "swp", "Et", "Eth1/"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    return !rest.empty() && rest.find_first_not_of("0123456789/s") == std::string_view::npos;
  }
  return false;
}

std::string short_device(std::string_view name) {
  const bool address = name.find_first_not_of("0123456789.:") == std::string_view::npos;
  return escaped_name(address ? name : name.substr(0, name.find('.')));
}

}  // namespace

void EthernetCables::add_device(std::string_view device, Role role) {
  Device& known = devices_[short_device(device)];
  if (known.role == Role::unknown || role == Role::network_switch) known.role = role;
}

EthernetCables::Port& EthernetCables::port_at(std::string_view device, std::string_view port) {
  return devices_[short_device(device)].ports[escaped_name(port)];
}

void EthernetCables::add_port(std::string_view device, std::string_view port, std::int64_t rate_mbps) {
  Port& known = port_at(device, port);
  if (known.rate_mbps == 0) known.rate_mbps = rate_mbps;
}

void EthernetCables::add_cable(std::string_view device, std::string_view port, std::string_view peer,
                               std::string_view peer_port) {
  Port& own = port_at(device, port);
  const std::string peer_name = short_device(peer), peer_port_name = escaped_name(peer_port);
  if (own.in_cable && (own.peer != peer_name || own.peer_port != peer_port_name)) {
    two_cables_.insert(fmt::format("{}/{}", short_device(device), port));
    return;
  }
  own.in_cable = true;
  own.peer = peer_name;
  own.peer_port = peer_port_name;
  (void)port_at(peer, peer_port);
}

bool EthernetCables::add_neighbour(std::string_view device, std::string_view port, const Neighbour& neighbour) {
  if (neighbour.name.empty() || neighbour.port.empty()) return false;
  // Hosts that run containers or virtual machines bridge, too.
  if (neighbour.bridges && !neighbour.is_station && !neighbour.port.starts_with("eth")) {
    add_device(neighbour.name, Role::network_switch);
  }
  add_cable(device, port, neighbour.name, neighbour.port);
  return true;
}

bool EthernetCables::is_switch(const Device& device) const {
  if (device.role != Role::unknown) return device.role == Role::network_switch;
  return !device.ports.empty() &&
         std::ranges::all_of(device.ports, [](const auto& p) { return is_switch_port(p.first); });
}

CableEnd EthernetCables::end_of(const Device& device, const std::string& port) const {
  if (device.network_switch) {
    const auto at = device.ports.find(port);
    return {device.network_switch, static_cast<unsigned>(std::distance(device.ports.begin(), at)) + 1};
  }
  return {device.adapters.at(port), 1};
}

void EthernetCables::add_drafts(const std::string& subnet, TopologyBuilder& builder) {
  const SubnetId id = builder.subnet(subnet);
  for (auto& [name, device] : devices_) {
    if (is_switch(device)) {
      device.network_switch = builder.add_switch(
          {.name = name, .description = name, .ports = static_cast<unsigned>(device.ports.size()), .subnet = id});
      continue;
    }
    const HostDraft host = builder.host(name);
    for (const auto& [port, unused] : device.ports) {
      const std::string description = name + " " + port;
      device.adapters[port] = builder.add_hca({.host = host, .device = port, .description = description, .ports = 1});
    }
  }
}

void EthernetCables::connect(TopologyBuilder& builder) {
  std::vector<std::string> assumed;
  std::size_t count = 0;
  for (auto& [name, device] : devices_) {
    for (auto& [port_name, port] : device.ports) {
      if (!port.in_cable) continue;
      Device& peer = devices_.at(port.peer);
      Port& other = peer.ports.at(port.peer_port);
      const bool told_twice = other.in_cable && other.peer == name && other.peer_port == port_name;
      if (told_twice && NaturalLess()(port.peer, name)) continue;  // taken at the other end
      std::int64_t rate = std::max(port.rate_mbps, other.rate_mbps);
      if (port.rate_mbps > 0 && other.rate_mbps > 0) rate = std::min(port.rate_mbps, other.rate_mbps);
      if (rate == 0) {
        rate = kAssumedMbps;
        if (++count <= kMaxFindingObjects) assumed.push_back(name + "/" + port_name);
      }
      // One end that tells of a cable is the rule: hosts run no LLDP daemon, or their files are not given.
      builder.connect(end_of(device, port_name), end_of(peer, port.peer_port), ethernet_link(RateMbps(rate)));
    }
  }
  if (count == 0) return;
  builder.add_finding({"speedAssumed", Severity::warning,
                       "no source tells the rate of " + plural(count, "cable", "cables") +
                           ": 400 Gb/s are assumed. Predicted times and bandwidths are as good as that",
                       std::move(assumed)});
}

Result<void> EthernetCables::move_into(const std::string& subnet, TopologyBuilder& builder) && {
  if (over_limit()) return fail(ErrorKind::tooLarge, "fabric.tooLarge", "more than 1,048,576 devices");
  for (const auto& [name, device] : devices_) {
    if (device.ports.size() <= TopologyBuilder::kMaxPortsPerDevice) continue;
    return fail(ErrorKind::tooLarge, "fabric.tooLarge", name + " has more than 1,024 ports");
  }
  add_drafts(subnet, builder);
  connect(builder);
  if (!two_cables_.empty()) {
    std::vector<std::string> ports(two_cables_.begin(), two_cables_.end());
    if (ports.size() > kMaxFindingObjects) ports.resize(kMaxFindingObjects);
    builder.add_finding({"portWithTwoCables", Severity::warning,
                         "sources contradict each other in what is cabled to " +
                             plural(two_cables_.size(), "port", "ports") + "; what was read first counts",
                         std::move(ports)});
  }
  return {};
}

}  // namespace railweave::fabric
