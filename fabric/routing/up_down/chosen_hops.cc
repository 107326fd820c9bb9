#include "fabric/routing/up_down/chosen_hops.h"

#include <cstdint>

namespace railweave::fabric {

std::size_t set_chosen_hops(const RoutingScope& scope, PlaneId id, const PlaneState& state,
                            std::span<const ChosenHop> hops, PlaneTables& tables) {
  const Plane& plane = scope.plane(id);
  PlaneTables::Editor editor(tables);
  std::size_t set = 0;
  for (const ChosenHop& hop : hops) {
    if (scope.plane_of(hop.sw) != id) continue;
    const DestinationId to = scope.find(hop.to);
    if (!to || scope.plane_of(to) != id) continue;
    const std::uint32_t s = scope.local(hop.sw), d = scope.local(to);
    const std::uint32_t arc = plane.find_arc(s, hop.port);
    if (arc == Plane::kNone) continue;
    if (!state.reach.leads(plane, state.directions, s, arc, plane.destination_home[d])) continue;
    editor.set(s, d, hop.port);
    ++set;
  }
  return set;
}

}  // namespace railweave::fabric
