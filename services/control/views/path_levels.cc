#include "services/control/views/path_levels.h"

#include <map>
#include <set>
#include <utility>

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

std::uint16_t path_levels(const FabricRoutes& routes, std::span<const PortId> ports) {
  const auto& lanes = routes.routing.lanes.planes;
  const RoutingScope& scope = routes.scope();
  const Topology& t = scope.topology();
  struct Ends {
    std::map<std::uint32_t, std::uint32_t> of_home;                  // how many
    std::set<std::pair<std::uint32_t, std::uint32_t>> destinations;  // (home, destination)
  };
  std::map<PlaneId, Ends> ends;
  for (const PortId port : ports) {
    const PortId peer = t.peer(port);
    const SwitchId leaf = peer ? t.switch_of(peer) : SwitchId();
    const DestinationId id = scope.find(port);
    if (!leaf || !id) continue;
    const PlaneId plane = scope.plane_of(leaf);
    if (plane.index() >= lanes.size() || lanes[plane.index()].path_level.empty()) continue;
    const std::uint32_t home = scope.plane(plane).home_of[scope.local(leaf)];
    if (home == Plane::kNone) continue;
    if (ends[plane].destinations.emplace(home, scope.local(id)).second) ++ends[plane].of_home[home];
  }
  unsigned levels = 0;
  for (const auto& [plane, of_plane] : ends) {
    const std::size_t destinations = scope.plane(plane).destination_count();
    for (const auto& [from, count] : of_plane.of_home) {
      for (const auto& [home, destination] : of_plane.destinations) {
        if (home == from && count == 1) continue;  // to itself
        levels |= 1U << lanes[plane.index()].level(from, destination, destinations);
      }
    }
  }
  return static_cast<std::uint16_t>(levels);
}

}  // namespace railweave::control
