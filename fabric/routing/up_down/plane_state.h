// What the up/down engines keep of a plane between two computations: the plan of its cabling, its present links, and
// the order, arc directions and distances that its tables follow. Plain values; const once published.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/routing_engine.h"
#include "fabric/routing/plane/switch_order.h"
#include "fabric/routing/up_down/plane_plan.h"
#include "fabric/routing/up_down/reach.h"

namespace railweave::fabric {

struct PlaneState {
  std::shared_ptr<const PlanePlan> plan;
  LivePlane live;
  std::shared_ptr<const SwitchOrder> order;
  bool flooded = false;  // another order than the plan's, which left connected pairs without a route
  std::vector<ArcDirection> directions;
  Reach reach;
};
using PlaneStatePtr = std::shared_ptr<const PlaneState>;

// Computed from scratch, on the plan's order, or on a flooded one where that leaves connected pairs without a route.
PlaneState fresh_state(const Plane& plane, std::shared_ptr<const PlanePlan> plan, LivePlane live);

// The same computed from an earlier state with the same plan and drains, not flooded, whose links differ in `arcs`.
// moved: receives the switches and homes whose distances changed, maybe more than once.
PlaneState updated_state(const Plane& plane, const PlaneState& before, LivePlane live,
                         const std::vector<std::uint32_t>& arcs, std::vector<Reach::Change>& moved);

// The tables of a state, on several threads.
PlaneTables tables_of(const Plane& plane, const PlaneState& state, std::size_t threads);

// `before` with the present state of the links behind `arcs` (both arcs of each link), where no drain has changed.
// Removes from `arcs` those that carry the same as before.
LivePlane next_live(const Plane& plane, const RoutingInput& input, const LivePlane& before,
                    std::vector<std::uint32_t>& arcs);

}  // namespace railweave::fabric
