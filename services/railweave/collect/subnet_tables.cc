#include "services/railweave/collect/subnet_tables.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace railweave::cli {
namespace {

using namespace fabric;  // NOLINT

std::unexpected<Error> silent(const std::string& who, const std::string& why) {
  return fail(ErrorKind::unavailable, "collect.silent", who + " " + why, {},
              "its tables would be missing: see that it answers, and run this again");
}

std::string port_name(PortRef port) { return fmt::format("{}/{}", to_string(port.device), port.port); }

// What is known of one subnet, line by line.
class TablesText {
 public:
  void add_routes(const std::string& guid, const TableReading& reading) {
    std::size_t entries = 0;
    for (std::size_t lid = 1; lid < reading.ports.size(); ++lid) {
      if (reading.ports[lid] == kNoPort) continue;
      lines_.push_back(fmt::format("lft {} {} {}", guid, lid, reading.ports[lid]));
      ++entries;
    }
    lines_.push_back(fmt::format("switch {} {}", guid, entries));
  }

  // What the port says of itself: LID and LMC of an adapter's, width and speed as active, MTU, data lanes and arbitration entries.
  void add_facts(const infiniband::SubnetNode& node, PortRef port, const PortTableLimits& limits) {
    const infiniband::PortInfo& info = node.ports[port.port].info;
    const LinkSpec link = node.link(port.port);
    const std::string_view speed = to_string(link.speed);
    const bool has_lid = !node.is_switch();
    lines_.push_back(fmt::format("port {} {} {} {} {} {} {} {}", port_name(port), has_lid ? info.lid : 0,
                                 has_lid ? info.lmc : 0, link.width, speed.empty() ? "-" : std::string(speed),
                                 limits.mtu_bytes, limits.data_vls, limits.low_entries));
  }

  // cabled: the ports of its device by which packets come in; none: of an adapter.
  void add_port(const PortTablesReading& reading, const std::set<std::uint8_t>* cabled) {
    const std::string port = port_name(reading.tables.port);
    for (const auto& [in, map] : reading.lane_maps) {
      if (cabled != nullptr && !cabled->contains(in)) continue;
      std::string line = fmt::format("sl2vl {} {}", port, in);
      for (const std::uint8_t vl : map) line += fmt::format(" {}", vl);
      lines_.push_back(std::move(line));
    }
    if (reading.tables.arbitration) {
      add_weights("vlarb " + port + " high", reading.tables.arbitration->high);
      add_weights("vlarb " + port + " low", reading.tables.arbitration->low);
    }
    if (cabled != nullptr || !reading.tables.pkeys) return;
    std::string line = "pkeys " + port;
    for (const std::uint16_t pkey : *reading.tables.pkeys) {
      std::array<char, 8> text{};
      std::snprintf(text.data(), text.size(), " 0x%04x", pkey);
      line += text.data();
    }
    lines_.push_back(std::move(line));
  }

  [[nodiscard]] std::string text() && {
    std::ranges::sort(lines_);
    std::string text = "railweave-tables 2\n";
    for (const std::string& line : lines_) text += line + "\n";
    return fmt::format("{}end {}\n", text, lines_.size());
  }

 private:
  void add_weights(std::string line, const std::vector<VlWeight>& entries) {
    for (const VlWeight entry : entries) {
      if (entry.weight != 0) line += fmt::format(" {}:{}", entry.vl, entry.weight);
    }
    lines_.push_back(std::move(line));
  }

  std::vector<std::string> lines_;
};

}  // namespace

Result<std::string> read_subnet_tables(infiniband::InfinibandDriver& driver) {
  const auto found = driver.discover();
  if (!found) return std::unexpected(found.error());
  if (found->blind) return silent("nothing behind the local port", "answers");
  if (!found->silent.empty()) return silent(to_string(found->silent.front()), "did not answer every question");
  const Topology& t = *found->topology;
  TablesText text;
  // 1. Forwarding tables.
  std::vector<SwitchId> switches;
  Lid top = 0;
  for (const SwitchId sw : t.switches()) {
    const auto* node = driver.map().find(t.guid(sw));
    if (node == nullptr) continue;
    switches.push_back(sw);
    top = std::max<Lid>(top, node->switch_info.linear_top);
  }
  const auto routes = driver.read_tables(t, switches, std::min<Lid>(top, 0xbfff));
  if (!routes) return std::unexpected(routes.error());
  for (const TableReading& one : *routes) {
    if (!one.answered) return silent(to_string(t.guid(one.sw)), "did not answer for all of its forwarding table");
    text.add_routes(to_string(t.guid(one.sw)), one);
  }
  // 2. The tables of cabled ports.
  std::vector<PortRef> ports;
  std::vector<std::set<std::uint8_t>> cabled;  // by switch
  for (const SwitchId sw : switches) {
    auto& of_switch = cabled.emplace_back();
    for (const PortId port : t.ports(sw)) {
      if (!t.peer(port)) continue;
      of_switch.insert(static_cast<std::uint8_t>(t.number(port)));
      ports.push_back({t.guid(sw), static_cast<std::uint8_t>(t.number(port))});
    }
  }
  const std::size_t of_switches = ports.size();
  for (const PortId port : t.hca_ports()) {
    if (t.peer(port)) ports.push_back({t.guid(t.hca_of(port)), static_cast<std::uint8_t>(t.number(port))});
  }
  const auto read = driver.read_port_tables(ports);
  if (!read) return std::unexpected(read.error());
  std::size_t sw = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PortTablesReading& one = (*read)[i];
    if (!one.answered) return silent(port_name(ports[i]), one.reason);
    const auto* node = driver.map().find(ports[i].device);
    const auto limits = driver.read_limits(ports[i]);
    if (node == nullptr || !limits) return silent(port_name(ports[i]), "did not say how it runs");
    text.add_facts(*node, ports[i], *limits);
    while (i < of_switches && t.guid(switches[sw]) != ports[i].device) ++sw;
    text.add_port(one, i < of_switches ? &cabled[sw] : nullptr);
  }
  return std::move(text).text();
}

}  // namespace railweave::cli
