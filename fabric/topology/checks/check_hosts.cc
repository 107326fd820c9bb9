#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/topology/checks/check_parts.h"
#include "fabric/topology/leaf_sharing.h"
#include "fabric/topology/rail_coverage.h"
#include "fabric/topology/spine_hosts.h"

namespace railweave::fabric {
namespace {

// "mlx5_0 port 1"
std::string port_of_device(const Topology& topology, PortId port) {
  const HcaId hca = topology.hca_of(port);
  return fmt::format("{} port {}", topology.device(hca), topology.number(port));
}

// Two cables of one host are in each other's places.
void report_crossed(const Topology& topology, const CrossedPorts& crossed, FindingList& findings) {
  const auto at_switch = [&](PortId port) {
    const PortId peer = topology.peer(port);
    return fmt::format("{} port {}", topology.name(topology.switch_of(peer)), topology.number(peer));
  };
  const auto rail_of = [&](PortId port) { return std::string(topology.name(topology.rail(port))); };
  const PortId a = crossed.a.port, b = crossed.b.port;
  const std::string host(topology.name(topology.host(topology.hca_of(a))));
  findings.add("portsCrossed", Severity::warning,
               "host " + host + ": the cables of " + port_of_device(topology, a) + " and " +
                   port_of_device(topology, b) + " are crossed: " + port_of_device(topology, a) + " is on " +
                   rail_of(a) + ", " + port_of_device(topology, b) + " on " + rail_of(b) +
                   ", and the same ports of similar hosts the other way round; exchange their ends at " + at_switch(a) +
                   " and " + at_switch(b),
               {topology.port_text(a), topology.port_text(b)});
}

// One finding per set of missing rails: these hosts usually share a cause.
void check_rails(const Topology& topology, FindingList& findings) {
  std::map<std::vector<RailId>, std::vector<std::string>> hosts_without;
  for (const auto& shortfall : hosts_short_of_rail(topology)) {
    hosts_without[shortfall.missing].emplace_back(topology.name(shortfall.host));
  }
  for (auto& [missing, hosts] : hosts_without) {
    std::vector<std::string> rails;
    for (const auto rail : missing) rails.emplace_back(topology.name(rail));
    std::string message = counted(hosts.size(), "host") + (hosts.size() == 1 ? " has" : " have") + " no port on " +
                          first_few(rails) + ", unlike similar hosts";
    findings.add("hostShortOfRail", Severity::warning, std::move(message), std::move(hosts));
  }
  const std::vector<OddPort> odd_ports = ports_on_odd_rail(topology);
  for (const CrossedPorts& one : crossed_ports(topology, odd_ports)) report_crossed(topology, one, findings);
  std::vector<std::string> odd;
  std::vector<std::string> described;
  for (const auto& [port, usual] : odd_ports) {
    const HcaId hca = topology.hca_of(port);
    odd.push_back(topology.port_text(port));
    described.push_back(
        fmt::format("{} {}{} is on {} and not on {}", topology.name(topology.host(hca)), topology.device(hca),
                    topology.ports(hca).size() > 1 ? fmt::format(" port {}", topology.number(port)) : "",
                    topology.name(topology.rail(port)), topology.name(usual)));
  }
  findings.add("adapterOnOddRail", Severity::warning,
               counted(odd.size(), "adapter port") + " on another rail than the same device of other hosts (" +
                   first_few(described) + "); check whether cables are swapped",
               odd);
}

void check_spines(const Topology& topology, FindingList& findings) {
  std::vector<std::uint32_t> hosts_of_switch(topology.switches().size());
  for (const auto port : topology.hca_ports()) {
    if (!topology.host(topology.hca_of(port))) continue;
    if (const SwitchId sw = switch_at(topology, port)) ++hosts_of_switch[sw.index()];
  }
  std::vector<std::string> spines;
  std::size_t hosts = 0;
  for (const auto sw : topology.switches()) {
    if (!is_spine_with_hosts(topology, sw, hosts_of_switch)) continue;
    spines.emplace_back(topology.name(sw));
    hosts += hosts_of_switch[sw.index()];
  }
  findings.add("hostOnSpine", Severity::warning,
               counted(hosts, "host port") + " on " + counted(spines.size(), "switch") + " cabled like a spine",
               spines);
}

void check_cables(const Topology& topology, FindingList& findings) {
  // A port without a cable is reported only if the same port of most hosts has one: the second port of an adapter is
  // often left free on purpose.
  struct Use {
    std::size_t cabled = 0;
    std::vector<PortId> free;
  };
  std::map<std::pair<std::string_view, unsigned>, Use> uses;  // (device, port number)
  std::vector<std::string> hosts;
  std::vector<bool> cabled(topology.hosts().size());
  for (const auto host : topology.hosts()) {
    for (const auto hca : topology.hcas(host)) {
      for (const auto port : topology.ports(hca)) {
        if (topology.peer(port)) cabled[host.index()] = true;
      }
    }
    if (!cabled[host.index()]) hosts.emplace_back(topology.name(host));
  }
  for (const auto port : topology.hca_ports()) {
    const HcaId hca = topology.hca_of(port);
    const HostId host = topology.host(hca);
    if (!host || !cabled[host.index()]) continue;
    Use& use = uses[{topology.device(hca), topology.number(port)}];
    if (topology.peer(port)) {
      ++use.cabled;
    } else {
      use.free.push_back(port);
    }
  }
  std::vector<std::string> ports;
  for (const auto& [place, use] : uses) {
    if (use.cabled <= use.free.size()) continue;
    for (const auto port : use.free) ports.push_back(topology.port_text(port));
  }
  findings.add("hostWithoutLinks", Severity::warning,
               counted(hosts.size(), "host") + " without any cable to the network", hosts);
  findings.add("adapterWithoutLink", Severity::info,
               counted(ports.size(), "adapter port") + " without a cable, unlike the same port of most hosts", ports);
}

}  // namespace

void check_hosts(const Topology& topology, FindingList& findings) {
  check_rails(topology, findings);
  check_spines(topology, findings);
  check_cables(topology, findings);
}

}  // namespace railweave::fabric
