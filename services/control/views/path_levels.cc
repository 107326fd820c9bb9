#include "services/control/views/path_levels.h"

#include <map>
#include <vector>

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

std::uint16_t path_levels(const FabricRoutes& routes, std::span<const PortId> ports) {
  const auto& lanes = routes.routing.lanes.planes;
  const RoutingScope& scope = routes.scope();
  const Topology& t = scope.topology();
  struct End {
    std::uint32_t home = 0, destination = 0;
  };
  std::map<PlaneId, std::vector<End>> ends;
  for (const PortId port : ports) {
    const PortId peer = t.peer(port);
    const SwitchId leaf = peer ? t.switch_of(peer) : SwitchId();
    const DestinationId id = scope.find(port);
    if (!leaf || !id) continue;
    const PlaneId plane = scope.plane_of(leaf);
    if (plane.index() >= lanes.size() || lanes[plane.index()].path_level.empty() || routes.is_seen(plane)) continue;
    const std::uint32_t home = scope.plane(plane).home_of[scope.local(leaf)];
    if (home != Plane::kNone) ends[plane].push_back({home, scope.local(id)});
  }
  unsigned levels = 0;
  for (const auto& [plane, of_plane] : ends) {
    const std::size_t destinations = scope.plane(plane).destination_count();
    for (const End& from : of_plane) {
      for (const End& to : of_plane) {
        if (from.destination == to.destination) continue;
        levels |= 1U << lanes[plane.index()].level(from.home, to.destination, destinations);
      }
    }
  }
  return static_cast<std::uint16_t>(levels);
}

}  // namespace railweave::control
