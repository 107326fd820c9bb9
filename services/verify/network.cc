#include "services/verify/network.h"

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

std::string plain_guid(std::string text) {
  if (text.starts_with("0x")) text.erase(0, 2);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::string(text.size() < 16 ? 16 - text.size() : 0, '0') + text;
}

// As certificate.md defines it.
std::string entries_digest(const Routes& routes) {
  constexpr std::uint64_t kStart = 14695981039346656037U, kPrime = 1099511628211U;
  std::uint64_t all = kStart;
  for (const auto& [guid, table] : routes.port_of) {  // ascending: GUIDs are 16 digits
    std::uint64_t entries = kStart;
    for (const auto& [lid, port] : table) entries = (entries ^ (lid << 16U | port)) * kPrime;
    all = (all ^ std::stoull(guid, nullptr, 16)) * kPrime;
    all = (all ^ entries) * kPrime;
  }
  char digest[20];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(all));
  return digest;
}

// Data rates: of the signalling rate 8/10 up to QDR and 64/66 from FDR10 on.
std::int64_t lane_mbps(const std::string& speed) {
  static const std::map<std::string, std::int64_t> known{{"SDR", 2'000},    {"DDR", 4'000},   {"QDR", 8'000},
                                                         {"FDR10", 10'000}, {"FDR", 13'636},  {"EDR", 25'000},
                                                         {"HDR", 50'000},   {"NDR", 100'000}, {"XDR", 200'000}};
  const auto at = known.find(speed);
  return at == known.end() ? 0 : at->second;
}

}  // namespace

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
  }
  const auto adapters = [&](const Json& list, const std::string& host) {
    for (const Json& one : list) {
      device.push_back(plain_guid(one.value("guid", "0")));
      unsigned number = 0;
      for (const Json& port : section(one, "ports")) {
        const PortName name = device.back() + "/" + std::to_string(++number);
        network.end_port_lid[name] = port.value("lid", std::uint64_t{0});
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
    const PortName a = device.at(link.at(0).get<std::size_t>()) + "/" + std::to_string(link.at(1).get<unsigned>());
    const PortName b = device.at(link.at(2).get<std::size_t>()) + "/" + std::to_string(link.at(3).get<unsigned>());
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

Routes read_routes(const std::string& path) {
  const std::string text = file_text(path);
  Routes routes;
  std::istringstream lines(text);
  std::map<std::uint64_t, unsigned>* table = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find("Switch 0x"); at != std::string::npos) {
      table = &routes.port_of[plain_guid(line.substr(at + 7, 18))];
      continue;
    }
    unsigned lid = 0, port = 0;
    if (table != nullptr && std::sscanf(line.c_str(), "0x%x : %u", &lid, &port) == 2) (*table)[lid] = port;
  }
  if (routes.port_of.empty()) throw std::runtime_error(path + ": has no forwarding tables");
  routes.digest = entries_digest(routes);
  return routes;
}

std::string switch_of(const PortName& port) { return port.substr(0, port.find('/')); }

Parts parts_of(const Network& network, const PortName& without) {
  std::map<std::string, std::string> root;
  const std::function<std::string(const std::string&)> find = [&](const std::string& guid) {
    auto at = root.try_emplace(guid, guid).first;
    return at->second == guid ? guid : at->second = find(at->second);
  };
  for (const auto& [a, b] : network.peer) {
    const bool ends = network.end_port_lid.contains(a) || network.end_port_lid.contains(b);
    if (ends || network.dead.contains(a) || a == without || b == without) continue;
    root[find(switch_of(a))] = find(switch_of(b));
  }
  Parts number, part;
  for (const std::string& guid : network.switches) {
    part[guid] = number.try_emplace(find(guid), number.size()).first->second;
  }
  return part;
}

std::vector<std::string> switch_links(const Network& network) {
  std::vector<std::string> links;
  for (const auto& [a, b] : network.peer) {
    const bool switches = network.switches.contains(switch_of(a)) && network.switches.contains(switch_of(b));
    if (a < b && switches && !network.dead.contains(a)) links.push_back(a + "--" + b);
  }
  return links;
}

std::optional<std::vector<DirectedLink>> walk(const Network& network, const Routes& routes, const PortName& from,
                                              const PortName& to, std::uint64_t to_lid) {
  std::vector<DirectedLink> links;
  PortName out = from;
  for (unsigned hop = 0; hop < 64; ++hop) {
    const auto peer = network.peer.find(out);
    if (peer == network.peer.end() || network.dead.contains(out)) return std::nullopt;
    links.emplace_back(out, peer->second);
    if (peer->second == to) return links;
    const std::string guid = peer->second.substr(0, peer->second.find('/'));
    const auto table = routes.port_of.find(guid);
    if (table == routes.port_of.end()) return std::nullopt;
    const auto entry = table->second.find(to_lid);
    if (entry == table->second.end() || entry->second == 0) return std::nullopt;
    out = guid + "/" + std::to_string(entry->second);
  }
  return std::nullopt;
}

}  // namespace railweave::verify
