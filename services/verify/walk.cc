#include "services/verify/walk.h"

namespace railweave::verify {

Cabling::Cabling(const Network& network) {
  std::unordered_map<std::string, std::uint32_t> switches;
  for (const std::string& guid : network.switches) {
    switches.emplace(guid, static_cast<std::uint32_t>(guids_.size()));
    guids_.push_back(guid);
  }
  port_of_switch_.resize(guids_.size());
  for (const auto& [name, peer] : network.peer) {
    numbers_.emplace(name, static_cast<PortNumber>(names_.size()));
    names_.push_back(name);
  }
  for (PortNumber port = 0; port < names_.size(); ++port) {
    peer_.push_back(numbers_.at(network.peer.at(names_[port])));
    const auto at = switches.find(verify::switch_of(names_[port]));
    switch_of_.push_back(at == switches.end() ? kNoPort : at->second);
    if (at == switches.end()) continue;
    const std::size_t number = std::stoul(names_[port].substr(names_[port].find('/') + 1));
    auto& of_switch = port_of_switch_[at->second];
    if (of_switch.size() <= number) of_switch.resize(number + 1, kNoPort);
    of_switch[number] = port;
  }
}

PortNumber Cabling::find(const PortName& name) const {
  const auto at = numbers_.find(name);
  return at == numbers_.end() ? kNoPort : at->second;
}

Walker::Walker(const Cabling& cabling, const Routes& routes, const std::set<PortName>& dead)
    : cabling_(cabling), dead_(cabling.ports(), 0) {
  for (const std::string& guid : cabling.guids_) {
    const auto at = routes.port_of.find(guid);
    entries_.push_back(at == routes.port_of.end() ? nullptr : &at->second);
  }
  for (const PortName& name : dead) {
    if (const PortNumber port = cabling.find(name); port != kNoPort) dead_[port] = 1;
  }
}

bool Walker::walk(PortNumber from, PortNumber to, std::uint64_t to_lid, std::vector<PortNumber>& path) const {
  constexpr unsigned kMaxHops = 64;
  path.clear();
  PortNumber out = from;
  for (unsigned hop = 0; hop < kMaxHops && out != kNoPort; ++hop) {
    if (dead_[out] != 0) return false;
    path.push_back(out);
    const PortNumber in = cabling_.peer_[out];
    if (in == to) return true;
    const std::uint32_t at = cabling_.switch_of_[in];
    if (at == kNoPort || entries_[at] == nullptr) return false;
    const unsigned number = entries_[at]->port(to_lid);
    const auto& ports = cabling_.port_of_switch_[at];
    if (number == 0 || number >= ports.size()) return false;
    out = ports[number];
  }
  return false;
}

PortNumber Walker::next(std::uint32_t sw, std::uint64_t lid) const {
  if (entries_[sw] == nullptr) return kNoPort;
  const unsigned number = entries_[sw]->port(lid);
  const auto& ports = cabling_.port_of_switch_[sw];
  if (number == 0 || number >= ports.size() || ports[number] == kNoPort || dead_[ports[number]] != 0) return kNoPort;
  return ports[number];
}

}  // namespace railweave::verify
