// The cables over which switches may hand on what is sent to multicast groups where routes use several lanes: a tree of each
// plane whose turns, on the lanes that packets of some levels are on, close no circle of channels with those of all unicast
// paths. Groups are led over parts of it, so that whatever groups there are, none adds a turn that was not proven. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric {

struct MulticastLanes {
  std::vector<std::uint8_t> in_tree;  // by arc: 1 in both directions of a cable of the tree
  std::uint32_t levels = 0;           // of packets that it is proven for, as bits
  // Switches that the usable cables join to the largest part of the tree, and that no proven cable does.
  std::size_t left_out = 0;
};

// usable: by arc, what may be taken: 0 not, 1 only where nothing else joins a switch, 2 yes; the same in both directions of a
// cable. For packets of all of the lanes' levels, or of level 0 alone where that joins more switches. Nothing is proven beside
// tables that close a circle themselves, as those of switches that were reset in part.
// O(homes x destinations x length of a route + arcs x turns).
MulticastLanes prove_multicast(const Plane& plane, const PlaneTables& tables, const PlaneLanes& lanes,
                               std::span<const std::uint8_t> usable);

}  // namespace railweave::fabric
