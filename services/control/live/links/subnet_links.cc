#include "services/control/live/links/subnet_links.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/topology/link.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

std::string device_name(const Topology& topology, Guid guid) {
  if (const auto sw = topology.find_switch(guid)) return std::string(topology.name(sw));
  if (const auto hca = topology.find_hca(guid)) return std::string(topology.description(hca));
  return to_string(guid);
}

}  // namespace

SubnetLinks::SubnetLinks(TopologyPtr topology, std::string_view subnet) : topology_(std::move(topology)) {
  const Topology& t = *topology_;
  for (const SubnetId id : t.subnets()) {
    if (t.name(id) == subnet) subnet_ = id;
  }
  if (!subnet_) return;
  for (const SwitchId sw : t.switches()) {
    if (t.subnet(sw) == subnet_) switches_.push_back(sw);
  }
  for (const LinkId link : t.links()) {
    PortId a = t.a(link);
    PortId b = t.b(link);
    if (!t.is_switch_port(a)) std::swap(a, b);
    if (!t.is_switch_port(a) || t.subnet(t.switch_of(a)) != subnet_) continue;
    Cable cable{.link = link, .a = t.guid(t.switch_of(a)), .a_port = t.number(a), .b_port = t.number(b)};
    if (t.is_switch_port(b)) {
      cable.b = t.guid(t.switch_of(b));
    } else if (const HcaId hca = t.hca_of(b)) {
      cable.b = t.guid(hca);
      adapters_.push_back(hca);
    }
    cables_.push_back(cable);
  }
  std::ranges::sort(adapters_);
  adapters_.erase(std::ranges::unique(adapters_).begin(), adapters_.end());
}

LinkState SubnetLinks::state(const Cable& cable, const FabricDriver& driver, bool bringing_up, LinkState before) const {
  const LinkReading reading = driver.read_link(cable.a, cable.a_port);
  if (!reading.known && !driver.read_link(cable.b, cable.b_port).known) return before;
  if (!reading.up || reading.peer != cable.b || reading.peer_port != cable.b_port) return LinkState::down;
  if (!reading.active && !bringing_up) return LinkState::down;
  const RateMbps rate = reading.spec.rate;
  // Simulators and old firmware report no rate: such a link is not degraded.
  const bool slower = rate.value() > 0 && topology_->rate(cable.link).value() > 0 && rate < topology_->rate(cable.link);
  return slower ? LinkState::degraded : LinkState::up;
}

std::vector<LinkState> SubnetLinks::states(const FabricDriver& driver, bool bringing_up,
                                           const std::vector<LinkState>& before) const {
  std::vector<LinkState> states;
  states.reserve(cables_.size());
  for (std::size_t i = 0; i < cables_.size(); ++i) {
    states.push_back(state(cables_[i], driver, bringing_up, before.empty() ? LinkState::down : before[i]));
  }
  return states;
}

bool SubnetLinks::need_activation(const FabricDriver& driver) const {
  return std::ranges::any_of(cables_, [&](const Cable& cable) {
    const LinkReading reading = driver.read_link(cable.a, cable.a_port);
    return reading.up && !reading.active && reading.peer == cable.b && reading.peer_port == cable.b_port;
  });
}

std::vector<LinkId> SubnetLinks::misled(const FabricDriver& driver) const {
  std::vector<LinkId> misled;
  for (const Cable& cable : cables_) {
    if (topology_->joins_switches(cable.link)) continue;
    const LinkReading reading = driver.read_link(cable.a, cable.a_port);
    if (reading.up && reading.peer != cable.b && !topology_->find_hca(reading.peer)) misled.push_back(cable.link);
  }
  return misled;
}

std::vector<PortRef> SubnetLinks::unused_ports(const FabricDriver& driver) const {
  const Topology& t = *topology_;
  std::vector<PortRef> unused;
  for (const SwitchId sw : switches_) {
    for (const PortId port : t.ports(sw)) {
      const LinkReading reading = driver.read_link(t.guid(sw), t.number(port));
      if (!reading.up) continue;
      const PortId peer = t.peer(port);
      const SwitchId other = peer ? t.switch_of(peer) : SwitchId();
      const HcaId hca = peer && !other ? t.hca_of(peer) : HcaId();
      const Guid accepted = other ? t.guid(other) : hca ? t.guid(hca) : Guid();
      if (peer && reading.peer == accepted && reading.peer_port == t.number(peer)) continue;
      unused.push_back({t.guid(sw), static_cast<std::uint8_t>(t.number(port))});
    }
  }
  return unused;
}

std::vector<FabricDifference> SubnetLinks::differences(const FabricDriver& driver, const Topology& discovered,
                                                       bool lids, std::uint64_t& count) const {
  using Kind = FabricDifference::Kind;
  std::vector<FabricDifference> found;
  count = 0;
  const auto add = [&](Kind kind, std::string subject, std::string text) {
    ++count;
    if (found.size() < SubnetStatus::kMaxDifferences) found.push_back({kind, std::move(subject), std::move(text)});
  };
  const Topology& t = *topology_;
  for (const SwitchId sw : switches_) {
    const std::string name(t.name(sw));
    if (!driver.is_present(t.guid(sw))) {
      add(Kind::missing_device, name, "switch " + name + " is accepted but was not found");
    } else if (const Lid lid = driver.read_lid(t.guid(sw), 0); lids && t.lid(sw) != 0 && lid != t.lid(sw)) {
      add(Kind::other_lid, name, fmt::format("switch {} has LID {}, accepted is {}", name, lid, t.lid(sw)));
    }
  }
  for (const HcaId hca : adapters_) {
    if (driver.is_present(t.guid(hca))) continue;
    const std::string name(t.description(hca));
    add(Kind::missing_device, to_string(t.guid(hca)), "adapter '" + name + "' is accepted but was not found");
  }
  for (const SwitchId sw : discovered.switches()) {
    if (t.find_switch(discovered.guid(sw))) continue;
    add(Kind::unknown_device, std::string(discovered.name(sw)),
        fmt::format("switch {} was found but is not accepted", discovered.name(sw)));
  }
  for (const HcaId hca : discovered.hcas()) {
    if (t.find_hca(discovered.guid(hca))) continue;
    add(Kind::unknown_device, to_string(discovered.guid(hca)),
        fmt::format("adapter '{}' was found but is not accepted", discovered.description(hca)));
  }
  for (const Cable& cable : cables_) {
    const LinkReading reading = driver.read_link(cable.a, cable.a_port);
    const std::string name = t.link_text(cable.link);
    if (!reading.up) {
      add(Kind::missing_link, name, "link " + name + " is accepted but down");
    } else if (reading.peer != cable.b || reading.peer_port != cable.b_port) {
      add(Kind::other_link, name,
          fmt::format("{} port {} leads to {} port {}, accepted is {} port {}", device_name(t, cable.a), cable.a_port,
                      device_name(discovered, reading.peer), reading.peer_port, device_name(t, cable.b), cable.b_port));
    } else if (reading.spec.rate.value() > 0 && reading.spec.rate != t.rate(cable.link)) {
      add(Kind::other_rate, name,
          fmt::format("link {} runs at {} Gb/s, accepted is {}", name, reading.spec.rate.value() / 1000,
                      t.rate(cable.link).value() / 1000));
    }
  }
  for (const LinkId link : discovered.links()) {
    const PortId a = discovered.is_switch_port(discovered.a(link)) ? discovered.a(link) : discovered.b(link);
    const SwitchId sw = discovered.switch_of(a);
    const SwitchId known = sw ? t.find_switch(discovered.guid(sw)) : SwitchId();
    if (!known || discovered.number(a) > t.ports(known).size()) continue;
    if (t.link(t.ports(known)[discovered.number(a) - 1U])) continue;
    add(Kind::other_link, discovered.link_text(link),
        "link " + discovered.link_text(link) + " was found but is not accepted");
  }
  return found;
}

}  // namespace railweave::control
