// Tables are not replaced in one instant: while some switches have the new tables and others the old, packets meet any
// mixture of both. This checks what such a mixture can do. Pure.
#pragma once

#include <span>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

// Whether packets on mixtures of routes with these lanes can be followed.
bool can_be_mixed(const PlaneLanes& before, const PlaneLanes& after);

// Whether packets can wait for each other in a circle while switches change, entry by entry and in any order, from one
// routing to the other. earlier: whose entries packets on their way may have met as well; of lanes that can be mixed with
// theirs. Cost: O(changed entries) as a rule where all go up and then down on the same order; otherwise, and where a changed
// entry sends packets up that may still arrive from above, O(switches x destinations).
bool may_deadlock_between(const FabricView& view, PlaneId id, const Routing& before, const Routing& after,
                          std::span<const Routing* const> earlier = {});

}  // namespace railweave::fabric
