#include "services/verify/network.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

std::string plain_guid(std::string text) {
  if (text.starts_with("0x")) text.erase(0, 2);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::string(text.size() < 16 ? 16 - text.size() : 0, '0') + text;
}

}  // namespace

// Data rates: of the signalling rate 8/10 up to QDR and 64/66 from FDR10 on.
std::int64_t lane_mbps(const std::string& speed) {
  static const std::map<std::string, std::int64_t> known{{"SDR", 2'000},    {"DDR", 4'000},   {"QDR", 8'000},
                                                         {"FDR10", 10'000}, {"FDR", 13'636},  {"EDR", 25'000},
                                                         {"HDR", 50'000},   {"NDR", 100'000}, {"XDR", 200'000}};
  const auto at = known.find(speed);
  return at == known.end() ? 0 : at->second;
}

std::string entries_digest(const Routes& routes) {
  constexpr std::uint64_t kStart = 14695981039346656037U, kPrime = 1099511628211U;
  std::uint64_t all = kStart;
  for (const auto& [guid, table] : routes.port_of) {  // ascending: GUIDs are 16 digits
    std::uint64_t entries = kStart;
    table.each([&](std::uint64_t lid, unsigned port) { entries = (entries ^ (lid << 16U | port)) * kPrime; });
    all = (all ^ std::stoull(guid, nullptr, 16)) * kPrime;
    all = (all ^ entries) * kPrime;
  }
  char digest[20];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(all));
  return digest;
}

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

Network read_network(const std::string& path) {
  const Json file = Json::parse(file_text(path));
  if (file.value("railweave", "") != "fabric") throw std::runtime_error(path + ": not a fabric file (native JSON)");
  Network network;
  std::vector<std::string> device;  // GUID by number
  const Json nothing = Json::array();
  const auto section = [&](const Json& of, const char* name) -> const Json& {
    return of.contains(name) ? of.at(name) : nothing;
  };
  for (const Json& one : section(file, "switches")) {
    device.push_back(plain_guid(one.at("guid").get<std::string>()));
    network.switches.insert(device.back());
    const Json subnet = one.value("subnet", Json("default"));  // its name, or its number in the file
    network.subnet[device.back()] =
        subnet.is_string() ? subnet.get<std::string>()
                           : file.at("subnets").at(subnet.get<std::size_t>()).at("name").get<std::string>();
  }
  const auto adapters = [&](const Json& list, const std::string& host) {
    for (const Json& one : list) {
      device.push_back(plain_guid(one.value("guid", "0")));
      unsigned number = 0;
      for (const Json& port : section(one, "ports")) {
        const PortName name = fmt::format("{}/{}", device.back(), ++number);
        network.end_port_lid[name] = port.value("lid", std::uint64_t{0});
        network.end_port_lmc[name] = port.value("lmc", 0U);
        network.host[name] = host;
      }
    }
  };
  for (const Json& host : section(file, "hosts")) {
    const auto name = host.value("name", std::string());
    network.host_number.try_emplace(name, network.host_number.size());
    adapters(section(host, "adapters"), name);
    for (const Json& gpu : section(host, "gpus")) network.domains[name].push_back(gpu.value("domain", std::string()));
  }
  adapters(section(file, "adapters"), "");
  const Json& specs = section(file, "linkSpecs");
  for (const Json& link : section(file, "links")) {
    const PortName a = fmt::format("{}/{}", device.at(link.at(0).get<std::size_t>()), link.at(1).get<unsigned>());
    const PortName b = fmt::format("{}/{}", device.at(link.at(2).get<std::size_t>()), link.at(3).get<unsigned>());
    const Json& spec = specs.at(link.at(4).get<std::size_t>());
    const std::int64_t rate =
        spec.value("rateMbps", lane_mbps(spec.value("speed", "")) * spec.value("width", std::int64_t{0}));
    network.peer[a] = b;
    network.peer[b] = a;
    network.rate_mbps[a] = network.rate_mbps[b] = rate;
    if (spec.value("kind", "infiniband") == "infiniband") network.infiniband.insert({a, b});
  }
  return network;
}

bool Entries::add(std::uint64_t lid, unsigned port) {
  if (lid < port_of_.size() && port_of_[lid] != kNone) return false;
  set(lid, port);
  return true;
}

void Entries::set(std::uint64_t lid, unsigned port) {
  if (lid == 0 || lid >= kLids || port > 255)
    throw std::runtime_error(fmt::format("an entry of LID {} to port {}", lid, port));
  if (lid >= port_of_.size()) port_of_.resize(lid + 1, kNone);
  if (port_of_[lid] == kNone) ++size_;
  port_of_[lid] = static_cast<std::uint16_t>(port);
}

Routes read_routes(const std::string& path) {
  // A gigabyte on the largest fabrics: read line by line, entries without streams.
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  Routes routes;
  Entries* table = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0x")) {
      char* end = nullptr;
      const std::uint64_t lid = std::strtoull(line.c_str() + 2, &end, 16);
      if (table == nullptr || !line.substr(static_cast<std::size_t>(end - line.c_str()), 3).starts_with(" : "))
        continue;
      char* behind = nullptr;
      const unsigned long port = std::strtoul(end + 3, &behind, 10);
      if (behind != end + 3) table->set(lid, static_cast<unsigned>(port));
    } else if (const auto at = line.find("Switch 0x"); at != std::string::npos) {
      std::string guid = line.substr(at + 9, 16);
      guid.resize(std::min(guid.size(), guid.find_first_not_of("0123456789abcdefABCDEF")));
      table = &routes.port_of[plain_guid(std::move(guid))];
    }
  }
  if (routes.port_of.empty()) throw std::runtime_error(path + ": has no forwarding tables");
  routes.digest = entries_digest(routes);
  return routes;
}

std::string switch_of(const PortName& port) { return port.substr(0, port.find('/')); }

unsigned number_of(const PortName& port) { return static_cast<unsigned>(std::stoul(port.substr(port.find('/') + 1))); }

namespace {

Parts joined(const Network& network, const std::set<PortName>& dead, const PortName& without) {
  std::map<std::string, std::string> root;
  const std::function<std::string(const std::string&)> find = [&](const std::string& guid) {
    auto at = root.try_emplace(guid, guid).first;
    return at->second == guid ? guid : at->second = find(at->second);
  };
  for (const auto& [a, b] : network.peer) {
    const bool ends = network.end_port_lid.contains(a) || network.end_port_lid.contains(b);
    if (ends || dead.contains(a) || a == without || b == without) continue;
    root[find(switch_of(a))] = find(switch_of(b));
  }
  Parts number, part;
  for (const std::string& guid : network.switches) {
    part[guid] = number.try_emplace(find(guid), number.size()).first->second;
  }
  return part;
}

}  // namespace

Parts parts_of(const Network& network, const PortName& without) { return joined(network, network.dead, without); }

Parts cabled_parts_of(const Network& network) { return joined(network, {}, {}); }

std::vector<std::string> switch_links(const Network& network) {
  std::vector<std::string> links;
  for (const auto& [a, b] : network.peer) {
    const bool switches = network.switches.contains(switch_of(a)) && network.switches.contains(switch_of(b));
    if (a < b && switches && !network.dead.contains(a)) links.push_back(a + "--" + b);
  }
  return links;
}

}  // namespace railweave::verify
