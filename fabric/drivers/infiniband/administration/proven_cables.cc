#include "fabric/drivers/infiniband/administration/proven_cables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fabric/routing/levels/multicast_lanes.h"
#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric::infiniband {
namespace {

// The arc of the plane behind a cable of an attached switch; kNone: it is of another plane.
std::uint32_t arc_of(const AdministeredSubnet& subnet, const AttachedSwitches& attached, PlaneId id, std::uint32_t sw,
                     const SwitchGraph::Cable& cable) {
  const RoutingScope& scope = subnet.routing().tables.scope();
  const SwitchId here = subnet.nodes()[attached.nodes[sw]].sw, there = subnet.nodes()[attached.nodes[cable.peer]].sw;
  if (!here || !there || scope.plane_of(here) != id) return Plane::kNone;
  const Plane& plane = scope.plane(id);
  const std::uint32_t arc = plane.find_arc(scope.local(here), cable.port);
  return arc != Plane::kNone && plane.switches[plane.arcs[arc].to] == there ? arc : Plane::kNone;
}

}  // namespace

ProvenCables proven_cables(const AdministeredSubnet& subnet, const AttachedSwitches& attached) {
  ProvenCables proven{.graph = attached.graph};
  const Routing& routing = subnet.routing();
  const RoutingScope& scope = routing.tables.scope();
  for (const PlaneId id : scope.planes()) {
    if (id.index() >= routing.lanes.planes.size() || routing.lanes.planes[id.index()].single()) continue;
    const Plane& plane = scope.plane(id);
    std::vector<std::uint8_t> usable(plane.arcs.size(), 0);
    for (std::uint32_t sw = 0; sw < attached.graph.cables.size(); ++sw) {
      for (const SwitchGraph::Cable& cable : attached.graph.cables[sw]) {
        if (const std::uint32_t arc = arc_of(subnet, attached, id, sw, cable); arc != Plane::kNone)
          usable[arc] = cable.is_avoided ? 1 : 2;
      }
    }
    for (std::uint32_t a = 0; a < usable.size(); ++a) usable[a] = std::min(usable[a], usable[plane.arcs[a].reverse]);
    const MulticastLanes lanes =
        prove_multicast(plane, routing.tables.plane(id), routing.lanes.planes[id.index()], usable);
    proven.levels &= lanes.levels;
    proven.left_out += lanes.left_out;
    for (std::uint32_t sw = 0; sw < attached.graph.cables.size(); ++sw) {
      const SwitchId here = subnet.nodes()[attached.nodes[sw]].sw;
      if (!here || scope.plane_of(here) != id) continue;
      std::erase_if(proven.graph.cables[sw], [&](const SwitchGraph::Cable& cable) {
        const std::uint32_t arc = arc_of(subnet, attached, id, sw, cable);
        return arc == Plane::kNone || lanes.in_tree[arc] == 0;
      });
    }
  }
  return proven;
}

}  // namespace railweave::fabric::infiniband
