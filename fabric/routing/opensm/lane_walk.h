// Which lanes packets take by the levels of their paths and the maps of switches, followed path by path over the tables that
// switches hold; and where lanes then wait for each other. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/opensm/lane_maps.h"
#include "fabric/routing/opensm/path_levels.h"
#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

struct LaneUse {
  unsigned lanes = 1;          // the highest one between switches, and one
  unsigned circles = 0;        // lanes whose channels wait for each other in a circle
  std::vector<PortId> circle;  // one such circle: the ports that packets leave by, in order
  // Ordered pairs of an end port and a destination whose packets a map discards on the way, and the first such place.
  std::uint64_t discarded = 0;
  PortId discarded_at;
  std::uint64_t unmapped =
      0;  // ports of switches by which paths leave and of which no row tells the lane: it is the level
};

// planes: by PlaneId, those that are followed. maps: null: each level is a lane of its own. Paths to switches themselves count where a record tells their level.
LaneUse follow_lanes(const FabricView& view, const ForwardingTables& tables, const std::vector<bool>& planes,
                     const PathLevels& levels, const LaneMaps* maps);

}  // namespace railweave::fabric
