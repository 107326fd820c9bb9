// Tables are not replaced in one instant: while some switches have the new tables and others the old, packets meet any
// mixture of both. This checks what such a mixture can do. Pure.
#pragma once

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

// Whether packets on mixtures of routes with these lanes can be followed.
bool can_be_mixed(const PlaneLanes& before, const PlaneLanes& after);

// Whether packets can wait for each other in a circle while switches change, entry by entry and in any order, from one
// routing to the other. Cost: O(changed entries) as a rule where both go up and then down on the same order; otherwise,
// and where a changed entry sends packets up that may still arrive from above, O(switches x destinations).
bool may_deadlock_between(const FabricView& view, PlaneId id, const Routing& before, const Routing& after);

}  // namespace railweave::fabric
