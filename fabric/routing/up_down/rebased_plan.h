// Plans whose ports were spread again over what failures had left (FabricView::spread_basis()), so that the links which are
// left are filled as evenly as those of a fabric that was cabled so. Pure.
#pragma once

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/routing_engine.h"
#include "fabric/routing/up_down/plane_plan.h"

namespace railweave::fabric {

// The plan on which tables for a view are computed: `cabled` where none of the plane's links was out of use. On the same
// order of switches where that is about as good, as then old and new tables can be mixed in any order.
PlanePlanPtr plan_on_basis(const RoutingInput& input, const Plane& plane, const PlanePlanPtr& cabled,
                           const PlanChoice& choice);

}  // namespace railweave::fabric
