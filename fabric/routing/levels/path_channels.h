// The channels, each an arc on a lane, that the packets of paths are on one after the other, by tables and lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/levels/turn_counts.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/plane/port_arcs.h"

namespace railweave::fabric {

// Borrows what it is given. One per thread.
class PathChannels {
 public:
  PathChannels(const Plane& plane, const PlaneLanes& lanes, const PortArcs& port_arcs)
      : plane_(plane), lanes_(lanes), port_arcs_(port_arcs) {}

  // From a home to a destination, up to where the route ends, if it does not arrive. Valid until the next call.
  const std::vector<std::uint32_t>& path(const PlaneTables& tables, std::size_t home, std::uint32_t d);
  // The turns of all paths between end ports and destinations. O(homes x destinations x length of a route).
  TurnCounts all(const PlaneTables& tables);

 private:
  const Plane& plane_;
  const PlaneLanes& lanes_;
  const PortArcs& port_arcs_;
  std::vector<std::uint32_t> channels_;
};

}  // namespace railweave::fabric
