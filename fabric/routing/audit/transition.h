// Tables are not replaced in one instant: while some switches have the new ones and others the old, packets meet any
// mixture of both. What that mixture can do.
#pragma once

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

// Can packets wait for each other in a circle while switches change, entry by entry and in any order, from one routing
// to the other? Where both go up and down on the same order, O(changed entries) as a rule; otherwise, and where a
// change sends up what still comes down, O(switches x destinations).
bool may_deadlock_between(const FabricView& view, PlaneId id, const Routing& before, const Routing& after);

}  // namespace railweave::fabric
