#include "services/control/live/cabling/found_changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

// "leaf-0 port 3"
std::string place_name(const Topology& t, PortId port) {
  return fmt::format("{} port {}", t.name(t.switch_of(port)), t.number(port));
}

// Where the cables of an accepted device that is gone lead to, as their other ends say.
class Successor {
 public:
  explicit Successor(const Topology& accepted) : t_(accepted) {}

  void ask(const FabricDriver& driver, Guid neighbour, unsigned neighbour_port, unsigned own_port) {
    const LinkReading reading = driver.read_link(neighbour, neighbour_port);
    if (!reading.known || !reading.up) return;
    const bool is_accepted = t_.find_switch(reading.peer) || t_.find_hca(reading.peer);
    is_certain_ =
        is_certain_ && !is_accepted && reading.peer_port == own_port && (!device_.known() || device_ == reading.peer);
    device_ = reading.peer;
    last_port_ = std::max(last_port_, own_port);
  }
  // Unknown: none, or more than one.
  [[nodiscard]] Guid device() const { return is_certain_ ? device_ : Guid(); }
  [[nodiscard]] unsigned last_port() const { return last_port_; }

 private:
  const Topology& t_;
  Guid device_;
  bool is_certain_ = true;
  unsigned last_port_ = 0;
};

class ChangeFinder {
 public:
  ChangeFinder(const SubnetLinks& links, const FabricDriver& driver, const Topology& found, bool keeps_lids)
      : links_(links), t_(*links.topology()), driver_(driver), found_(found), keeps_lids_(keeps_lids) {}

  std::vector<FoundChange> find() {
    for (const SwitchId sw : links_.switches()) {
      if (t_.guid(sw).known() && !driver_.is_present(t_.guid(sw))) find_switch(sw);
    }
    for (const HcaId hca : links_.adapters()) {
      if (t_.guid(hca).known() && !driver_.is_present(t_.guid(hca))) find_adapter(hca);
    }
    find_moved();
    return std::move(changes_);
  }

 private:
  void find_switch(SwitchId sw) {
    Successor successor(t_);
    for (const PortId port : t_.ports(sw)) {
      const PortId peer = t_.peer(port);
      if (!peer) continue;
      const HcaId hca = t_.hca_of(peer);
      const SwitchId neighbour = t_.switch_of(peer);
      if (!hca && !neighbour) continue;
      successor.ask(driver_, neighbour ? t_.guid(neighbour) : t_.guid(hca), t_.number(peer), t_.number(port));
    }
    const SwitchId other = successor.device().known() ? found_.find_switch(successor.device()) : SwitchId();
    if (!other || successor.last_port() > found_.ports(other).size() || !taken_.insert(found_.guid(other)).second)
      return;
    const std::string name(t_.name(sw));
    DeviceExchange exchange{t_.guid(sw), found_.guid(other), {}};
    exchange.ports.push_back({Guid(), keeps_lids_ ? Lid{0} : found_.lid(other)});
    changes_.push_back(
        {.kind = FoundChange::Kind::exchangedSwitch,
         .id = fmt::format("exchangedSwitch:{}", to_string(t_.guid(sw))),
         .subject_kind = "switch",
         .subject_id = name,
         .text = fmt::format("switch {} is exchanged: {} is in the place of {}{}", name, to_string(found_.guid(other)),
                             to_string(t_.guid(sw)), other_description(t_.description(sw), found_.description(other))),
         .is_described_alike = t_.description(sw) == found_.description(other),
         .exchanged = {std::move(exchange)},
         .cables = {}});
  }

  void find_adapter(HcaId hca) {
    Successor successor(t_);
    std::string places;
    for (const PortId port : t_.ports(hca)) {
      const PortId peer = t_.peer(port);
      if (!peer || !t_.is_switch_port(peer) || t_.subnet(t_.switch_of(peer)) != links_.subnet()) continue;
      successor.ask(driver_, t_.guid(t_.switch_of(peer)), t_.number(peer), t_.number(port));
      places += (places.empty() ? "" : ", ") + place_name(t_, peer);
    }
    const HcaId other = successor.device().known() ? found_.find_hca(successor.device()) : HcaId();
    if (!other || successor.last_port() > found_.ports(other).size() || !taken_.insert(found_.guid(other)).second)
      return;
    DeviceExchange exchange{t_.guid(hca), found_.guid(other), {}};
    for (const PortId port : found_.ports(other)) {
      exchange.ports.push_back({found_.port_guid(port), keeps_lids_ ? Lid{0} : found_.lid(port)});
    }
    const std::string host = t_.host(hca) ? std::string(t_.name(t_.host(hca))) : std::string();
    const std::string device(t_.device(hca));
    changes_.push_back(
        {.kind = FoundChange::Kind::exchangedAdapter,
         .id = fmt::format("exchangedAdapter:{}", to_string(t_.guid(hca))),
         .subject_kind = host.empty() ? "adapter" : "node",
         .subject_id = host.empty() ? to_string(t_.guid(hca)) : host,
         .text = fmt::format("adapter {}{} at {} is exchanged: {} is in the place of {}{}",
                             device.empty() ? to_string(t_.guid(hca)) : device, host.empty() ? "" : " of node " + host,
                             places, to_string(found_.guid(other)), to_string(t_.guid(hca)),
                             other_description(t_.description(hca), found_.description(other))),
         .is_described_alike = t_.description(hca) == found_.description(other),
         .exchanged = {std::move(exchange)},
         .cables = {}});
  }

  static std::string other_description(std::string_view accepted, std::string_view found) {
    if (accepted == found) return {};
    return fmt::format("; it describes itself as '{}', accepted is '{}'", found, accepted);
  }

  // The port of an accepted switch that the adapter's cable leads to, where that is not the accepted one.
  [[nodiscard]] PortId moved_to(const SubnetLinks::Cable& cable) const {
    const LinkReading reading = driver_.read_link(cable.b, cable.b_port);
    if (!reading.known || !reading.up || (reading.peer == cable.a && reading.peer_port == cable.a_port)) return {};
    const SwitchId sw = t_.find_switch(reading.peer);
    if (!sw || t_.subnet(sw) != links_.subnet() || reading.peer_port == 0 || reading.peer_port > t_.ports(sw).size()) {
      return {};
    }
    const LinkReading back = driver_.read_link(reading.peer, reading.peer_port);
    if (!back.up || back.peer != cable.b || back.peer_port != cable.b_port) return {};
    return t_.ports(sw)[reading.peer_port - 1U];
  }

  // Adapters at ports that no accepted cable has, or that of an adapter that is moved as well has. A circle of them is no move:
  // these cables are exchanged with each other.
  void find_moved() {
    std::map<LinkId, PortId> moved;
    for (const SubnetLinks::Cable& cable : links_.cables()) {
      if (t_.joins_switches(cable.link) || !cable.b.known()) continue;
      if (const PortId to = moved_to(cable)) moved.emplace(cable.link, to);
    }
    const auto ends_free = [&](LinkId link) {
      std::set<LinkId> passed;
      for (;;) {
        const auto at = moved.find(link);
        if (at == moved.end() || !passed.insert(link).second) return false;
        if (!t_.peer(at->second)) return true;
        link = t_.link(at->second);
      }
    };
    std::map<LinkId, HostId> host_of;
    for (const auto& [link, to] : moved) {
      if (!ends_free(link)) continue;
      const PortId own = t_.is_switch_port(t_.a(link)) ? t_.b(link) : t_.a(link);
      host_of.emplace(link, t_.host(t_.hca_of(own)));
    }
    std::set<LinkId> done;
    for (const auto& [link, host] : host_of) {
      if (!done.contains(link)) offer_moved(link, moved, host_of, done);
    }
  }

  // With what has to move together: the other cables of the host, and those of hosts whose places are taken.
  void offer_moved(LinkId first, const std::map<LinkId, PortId>& moved, const std::map<LinkId, HostId>& host_of,
                   std::set<LinkId>& done) {
    std::vector<LinkId> together{first};
    done.insert(first);
    for (std::size_t i = 0; i < together.size(); ++i) {
      const LinkId link = together[i];
      for (const auto& [other, host] : host_of) {
        const bool is_joined =
            (host && host == host_of.at(link)) || t_.link(moved.at(link)) == other || t_.link(moved.at(other)) == link;
        if (is_joined && done.insert(other).second) together.push_back(other);
      }
    }
    std::ranges::sort(together);
    FoundChange change{.kind = FoundChange::Kind::movedHost, .subject_kind = "node", .exchanged = {}, .cables = {}};
    std::string hosts;
    for (const LinkId link : together) {
      const PortId was = t_.is_switch_port(t_.a(link)) ? t_.a(link) : t_.b(link), own = t_.peer(was);
      const HcaId hca = t_.hca_of(own);
      const std::string name = t_.host(hca) ? std::string(t_.name(t_.host(hca))) : to_string(t_.guid(hca));
      if (change.subject_id.empty()) {
        change.subject_id = name;
        change.subject_kind = t_.host(hca) ? "node" : "adapter";
      }
      change.text += fmt::format("{}{} {} port {} is at {} and no longer at {}", change.text.empty() ? "" : ", ", name,
                                 t_.device(hca), t_.number(own), place_name(t_, moved.at(link)), place_name(t_, was));
      change.cables.push_back({.link = link, .a = moved.at(link), .b = own, .spec = t_.spec(link)});
    }
    change.id = "movedHost:" + change.subject_id;
    change.text =
        (change.subject_kind == "node" ? "node " : "adapter ") + change.subject_id + " was moved: " + change.text;
    changes_.push_back(std::move(change));
  }

  const SubnetLinks& links_;
  const Topology& t_;
  const FabricDriver& driver_;
  const Topology& found_;
  const bool keeps_lids_;
  std::set<Guid> taken_;  // devices that stand in a place already
  std::vector<FoundChange> changes_;
};

}  // namespace

std::vector<FoundChange> find_changes(const SubnetLinks& links, const FabricDriver& driver, const Topology& found,
                                      bool keeps_lids) {
  if (!links.found()) return {};
  return ChangeFinder(links, driver, found, keeps_lids).find();
}

}  // namespace railweave::control
