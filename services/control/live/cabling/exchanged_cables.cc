#include "services/control/live/cabling/exchanged_cables.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

PortId find_port(const Topology& t, Guid device, unsigned number) {
  if (number == 0) return {};
  if (const SwitchId sw = t.find_switch(device)) {
    return number <= t.ports(sw).size() ? t.ports(sw)[number - 1] : PortId();
  }
  const HcaId hca = t.find_hca(device);
  return hca && number <= t.ports(hca).size() ? t.ports(hca)[number - 1] : PortId();
}

// "leaf-0 port 3"
std::string port_name(const Topology& t, PortId port) {
  const SwitchId sw = t.switch_of(port);
  const std::string device(sw ? t.name(sw) : t.description(t.hca_of(port)));
  return fmt::format("{} port {}", device.empty() ? t.port_text(port) : device, t.number(port));
}

// Ports whose cables are not as in force, and what they lead to.
class FoundCables {
 public:
  FoundCables(const SubnetLinks& links, const Topology* intended, const FabricDriver& driver)
      : t_(*links.topology()), intended_(intended), driver_(driver) {
    for (const SubnetLinks::Cable& cable : links.cables()) {
      const PortId a = t_.is_switch_port(t_.a(cable.link)) ? t_.a(cable.link) : t_.b(cable.link);
      const PortId b = t_.peer(a);
      const bool has_two = t_.is_switch_port(b);
      if (is_as_in_force(cable.a, cable.a_port, cable.b, cable.b_port) &&
          (!has_two || is_as_in_force(cable.b, cable.b_port, cable.a, cable.a_port))) {
        continue;
      }
      odd_.insert({a, b});
      note(a, cable.a, cable.a_port);
      if (has_two) note(b, cable.b, cable.b_port);
    }
  }

  std::vector<Recabling> take(bool only_back) {
    std::vector<Recabling> found;
    std::set<PortId> done;
    for (const PortId first : odd_) {
      if (done.contains(first)) continue;
      const auto ports = joined_to(first, done);
      if (!ports.empty()) recable(ports, only_back, found);
    }
    return found;
  }

 private:
  [[nodiscard]] bool is_as_in_force(Guid device, unsigned port, Guid peer, unsigned peer_port) const {
    const LinkReading reading = driver_.read_link(device, port);
    return reading.up && reading.peer == peer && reading.peer_port == peer_port;
  }

  void note(PortId port, Guid device, unsigned number) {
    const LinkReading reading = driver_.read_link(device, number);
    if (!reading.known) doubtful_.insert(port);
    if (!reading.known || !reading.up) return;
    const PortId peer = find_port(t_, reading.peer, reading.peer_port);
    if (!peer) {
      doubtful_.insert(port);
      return;
    }
    join(port, peer);
    if (!t_.is_switch_port(peer)) join(peer, port);  // an adapter says nothing that its switch does not
  }
  void join(PortId from, PortId to) {
    const auto [at, is_new] = leads_to_.try_emplace(from, to);
    if (!is_new && at->second != to) doubtful_.insert(from);  // two switches say that it is theirs
  }

  [[nodiscard]] PortId found_peer(PortId port) const {
    const auto at = leads_to_.find(port);
    return at == leads_to_.end() ? PortId() : at->second;
  }

  // All ports that this one's cable, in force or as found, was exchanged with. Empty: something of it is not certain, or
  // another subnet's.
  std::vector<PortId> joined_to(PortId first, std::set<PortId>& done) const {
    std::vector<PortId> ports{first};
    done.insert(first);
    bool is_certain = true;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const PortId port = ports[i];
      const PortId found = found_peer(port);
      is_certain =
          is_certain && odd_.contains(port) && !doubtful_.contains(port) && (!found || found_peer(found) == port);
      if (!odd_.contains(port)) continue;  // its own cable is there: not followed further
      for (const PortId next : {t_.peer(port), found}) {
        if (next && done.insert(next).second) ports.push_back(next);
      }
    }
    if (!is_certain) ports.clear();
    return ports;
  }

  [[nodiscard]] PortId intended_peer(PortId port) const {
    if (intended_ == nullptr) return t_.peer(port);
    const PortId there = same_port(t_, port, *intended_);
    const PortId peer = there ? intended_->peer(there) : PortId();
    return peer ? same_port(*intended_, peer, t_) : PortId();
  }
  [[nodiscard]] LinkSpec intended_spec(PortId port) const {
    if (intended_ == nullptr) return t_.spec(t_.link(port));
    return intended_->spec(intended_->link(same_port(t_, port, *intended_)));
  }

  void recable(const std::vector<PortId>& ports, bool only_back, std::vector<Recabling>& found) const {
    const bool is_whole = std::ranges::all_of(ports, [this](PortId port) { return bool(found_peer(port)); });
    const bool is_back = std::ranges::all_of(
        ports, [this](PortId port) { return !found_peer(port) || found_peer(port) == intended_peer(port); });
    const bool is_intended_among_them = std::ranges::all_of(ports, [&](PortId port) {
      const PortId peer = intended_peer(port);
      return peer && std::ranges::find(ports, peer) != ports.end() && intended_peer(peer) == port;
    });
    const bool some_found = std::ranges::any_of(ports, [this](PortId port) { return bool(found_peer(port)); });
    // One of the exchanged cables is back, and no other is where it is not intended to be.
    const bool goes_back = some_found && is_back && is_intended_among_them;
    if (!goes_back && (only_back || !is_whole)) return;
    std::vector<LinkId> places;
    std::vector<std::pair<PortId, PortId>> cables;
    for (const PortId port : ports) {
      const PortId peer = goes_back ? intended_peer(port) : found_peer(port);
      if (port < t_.peer(port)) places.push_back(t_.link(port));
      if (port < peer) cables.emplace_back(port, peer);
    }
    std::ranges::sort(places);
    std::ranges::sort(cables);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto [a, b] = cables[i];
      if (t_.peer(a) == b) continue;  // which keeps its place
      found.push_back({.link = places[i], .a = a, .b = b, .spec = spec_of(a, b)});
    }
  }

  // Both ends are good for what they were intended for.
  [[nodiscard]] LinkSpec spec_of(PortId a, PortId b) const {
    const LinkSpec of_a = intended_spec(a);
    const LinkSpec of_b = intended_spec(b);
    LinkSpec spec = of_b.rate < of_a.rate ? of_b : of_a;
    if (intended_peer(a) != b && of_a.cable_length_m != of_b.cable_length_m) spec.cable_length_m = 0;
    return spec;
  }

  const Topology& t_;
  const Topology* intended_;
  const FabricDriver& driver_;
  std::set<PortId> odd_, doubtful_;
  std::map<PortId, PortId> leads_to_;
};

std::string text_of(const Topology& t, const std::vector<std::pair<PortId, PortId>>& now,
                    const std::map<PortId, PortId>& intended) {
  const auto joined = [&](PortId a, PortId b) { return port_name(t, a) + " -- " + port_name(t, b); };
  std::string text = "cables are exchanged and used as they are: ";
  for (std::size_t i = 0; i < now.size(); ++i) {
    text += (i == 0 ? "" : ", ") + joined(now[i].first, now[i].second);
  }
  text += "; accepted are ";
  bool first = true;
  for (const auto& [a, b] : intended) {
    if (b < a) continue;
    text += (first ? "" : ", ") + joined(a, b);
    first = false;
  }
  if (now.size() != 2) return text + "; put them back, or accept them: railweave fabric discover --accept";
  // a leads to x and not to c: exchange x and c, or a and the one that x is intended to lead to.
  const auto [a, x] = now[0];
  const PortId c = intended.at(a);
  const PortId d = intended.at(x);
  return text + "; to put them back exchange the cable ends at " + port_name(t, x) + " and " + port_name(t, c) +
         ", or at " + port_name(t, a) + " and " + port_name(t, d) +
         "; to accept them: railweave fabric discover --accept";
}

}  // namespace

PortId same_port(const Topology& from, PortId port, const Topology& in) {
  const SwitchId sw = from.switch_of(port);
  return find_port(in, sw ? from.guid(sw) : from.guid(from.hca_of(port)), from.number(port));
}

std::vector<Recabling> find_exchanged(const SubnetLinks& links, const Topology* intended, const FabricDriver& driver,
                                      bool only_back) {
  return FoundCables(links, intended, driver).take(only_back);
}

std::uint64_t count_other_links(const Topology& topology, const Topology& other) {
  std::uint64_t count = 0;
  for (const LinkId link : topology.links()) {
    const PortId a = topology.a(link);
    if (!topology.is_switch_port(a) && !topology.is_switch_port(topology.b(link))) continue;
    const PortId there = same_port(topology, a, other);
    const PortId peer = there ? other.peer(there) : PortId();
    if (!peer || same_port(other, peer, topology) != topology.b(link)) ++count;
  }
  return count;
}

std::vector<Exchange> exchanges(const SubnetLinks& links, const Topology& intended) {
  const Topology& t = *links.topology();
  std::map<PortId, PortId> wanted;  // of ports that lead elsewhere
  for (const SubnetLinks::Cable& cable : links.cables()) {
    for (const PortId port : {t.a(cable.link), t.b(cable.link)}) {
      const PortId there = same_port(t, port, intended);
      const PortId peer = there ? intended.peer(there) : PortId();
      const PortId here = peer ? same_port(intended, peer, t) : PortId();
      if (here && here != t.peer(port)) wanted.emplace(port, here);
    }
  }
  std::vector<Exchange> all;
  std::set<PortId> done;
  for (const auto& [first, intended_peer] : wanted) {
    if (done.contains(first)) continue;
    Exchange exchange;
    std::vector<std::pair<PortId, PortId>> now;
    std::map<PortId, PortId> of_these;
    std::vector<PortId> ports{first};
    done.insert(first);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const PortId port = ports[i];
      const auto at = wanted.find(port);
      if (at == wanted.end()) continue;
      of_these.insert(*at);
      const PortId peer = t.peer(port);
      if (!done.contains(peer) || std::ranges::find(ports, peer) > ports.begin() + static_cast<std::ptrdiff_t>(i)) {
        now.emplace_back(port, peer);
        exchange.cables.push_back({.link = t.link_text(t.link(port)),
                                   .text = port_name(t, port) + " leads to " + port_name(t, peer) + ", accepted is " +
                                           port_name(t, at->second) + "; the cable is used as it is"});
      }
      for (const PortId next : {peer, at->second}) {
        if (done.insert(next).second) ports.push_back(next);
      }
    }
    exchange.text = text_of(t, now, of_these);
    all.push_back(std::move(exchange));
  }
  return all;
}

}  // namespace railweave::control
