#include "services/control/views/link_crossings.h"

#include <algorithm>

namespace railweave::control {
namespace {

using fabric::DestinationId;
using fabric::DestinationKind;
using fabric::Plane;
using fabric::PortId;
using fabric::SwitchId;

// The port with that number; none: the number is of no port.
PortId leaving(const fabric::Topology& topology, SwitchId sw, std::uint16_t number) {
  const auto ports = topology.ports(sw);
  return number == fabric::kPortZero || number > ports.size() ? PortId() : ports[number - 1];
}

// Which switches of a plane send what is for one destination over the link: by walking each switch's route to its end,
// and remembering the answer for every switch on the way.
class Column {
 public:
  Column(const FabricRoutes& routes, fabric::PlaneId id, PortId out)
      : routes_(routes),
        topology_(routes.scope().topology()),
        plane_(routes.scope().plane(id)),
        out_(out),
        crosses_(plane_.switch_count(), kUnknown) {}

  void begin(DestinationId destination) {
    destination_ = destination;
    std::ranges::fill(crosses_, kUnknown);
  }

  bool crosses(std::uint32_t from) {
    way_.clear();
    std::uint8_t found = kNo;
    for (std::uint32_t at = from;;) {
      if (crosses_[at] != kUnknown) {
        found = crosses_[at];
        break;
      }
      crosses_[at] = kNo;  // a loop ends here
      way_.push_back(at);
      const auto port = routes_.routing.tables.out_port(plane_.switches[at], destination_);
      if (leaving(topology_, plane_.switches[at], port) == out_) {
        found = kYes;
        break;
      }
      const std::uint32_t arc = plane_.find_arc(at, port);
      if (arc == Plane::kNone || down(plane_.arcs[arc].link)) break;
      at = plane_.arcs[arc].to;
    }
    for (const auto at : way_) crosses_[at] = found;
    return found == kYes;
  }

 private:
  static constexpr std::uint8_t kUnknown = 0, kNo = 1, kYes = 2;

  [[nodiscard]] bool down(fabric::LinkId link) const { return !routes_.input.view.alive(link); }

  const FabricRoutes& routes_;
  const fabric::Topology& topology_;
  const Plane& plane_;
  const PortId out_;
  DestinationId destination_;
  std::vector<std::uint8_t> crosses_;
  std::vector<std::uint32_t> way_;
};

bool is_end_port(const fabric::Destination& destination) {
  return destination.port && destination.lid_offset == 0 && destination.kind != DestinationKind::switch_management;
}

// By home: the end ports whose cables are up.
std::vector<std::vector<PortId>> senders(const FabricRoutes& routes, const Plane& plane) {
  const auto& topology = routes.scope().topology();
  std::vector<std::vector<PortId>> ports(plane.homes.size());
  for (std::size_t local = 0; local < plane.destination_count(); ++local) {
    const auto& destination = routes.scope().destination(plane.destination(local));
    if (!is_end_port(destination) || !routes.input.view.alive(topology.link(destination.port))) continue;
    ports[plane.destination_home[local]].push_back(destination.port);
  }
  return ports;
}

}  // namespace

LinkCrossings crossings(const FabricRoutes& routes, fabric::DirectedLink link) {
  LinkCrossings result;
  const auto& scope = routes.scope();
  const auto& topology = scope.topology();
  const PortId out = out_port_of(topology, link);
  if (!routes.input.view.alive(fabric::link_of(link))) return result;
  // The switch that sends over the link, or the first one of what an end port sends.
  const bool from_switch = topology.is_switch_port(out);
  const PortId far = topology.peer(out);
  if (!from_switch && !topology.is_switch_port(far)) return result;
  const SwitchId sw = topology.switch_of(from_switch ? out : far);
  const auto id = scope.plane_of(sw);
  const Plane& plane = scope.plane(id);
  const auto sending = senders(routes, plane);
  Column column(routes, id, out);
  std::vector<std::uint64_t> sends(plane.homes.size(), 0);  // destinations that each home sends to over the link
  for (std::size_t local = 0; local < plane.destination_count(); ++local) {
    const DestinationId destination = plane.destination(local);
    const auto& to = scope.destination(destination);
    if (!is_end_port(to) || to.port == out) continue;
    const PortId leaves = leaving(topology, sw, routes.routing.tables.out_port(sw, destination));
    if (!leaves || (from_switch && leaves != out)) continue;
    result.destinations.push_back(destination);
    if (!from_switch) continue;
    column.begin(destination);
    for (std::size_t h = 0; h < plane.homes.size(); ++h) {
      if (sending[h].empty() || !column.crosses(plane.homes[h].sw)) continue;
      ++sends[h];
      result.pairs += sending[h].size() - (std::ranges::find(sending[h], to.port) != sending[h].end() ? 1 : 0);
    }
  }
  if (!from_switch && !result.destinations.empty()) {
    result.sources.push_back(out);
    result.pairs = result.destinations.size();
  }
  for (std::size_t h = 0; h < sends.size(); ++h) {
    for (const PortId port : sending[h]) {
      // One that is the only destination sends nothing over it.
      const bool itself = result.destinations.size() == 1 && scope.destination(result.destinations[0]).port == port;
      if (sends[h] > 0 && !itself) result.sources.push_back(port);
    }
  }
  return result;
}

}  // namespace railweave::control
