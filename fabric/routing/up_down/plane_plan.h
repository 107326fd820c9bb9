// The part of up/down routing that does not change with link states: the ranking of a plane's switches, their order and
// the ports that would be used if nothing were broken. Computed once per cabling and shared by all tables computed on
// it; immutable then.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/routing_scope.h"
#include "fabric/routing/plane/switch_order.h"
#include "fabric/routing/up_down/next_hops.h"
#include "fabric/routing/up_down/table_fill.h"
#include "fabric/topology/finding.h"

namespace railweave::fabric {

struct PlanePlan {
  Ranking ranking;
  SwitchOrder order;
  NominalPlan nominal;
  // With all links up and nothing drained.
  std::vector<ArcDirection> directions;
  Reach reach;
  std::vector<Finding> findings;
  // Of a plan whose ports were spread over what was left at an earlier time (rebased()): the one that it was made from.
  std::shared_ptr<const PlanePlan> cabled;
};
using PlanePlanPtr = std::shared_ptr<const PlanePlan>;

struct PlanChoice {
  bool trees_only = false;  // do not try the ranking by distance from a root
  bool balance = true;      // choose ports by balancing where the closed form does not spread evenly
};

// weights: by local destination, or empty.
PlanePlan plan_plane(const RoutingScope& scope, const Plane& plane, std::span<const std::uint32_t> weights,
                     const PlanChoice& choice);

// RoutingInput::destination_weight for the destinations of a plane; empty: all alike.
std::vector<std::uint32_t> local_weights(const RoutingInput& input, const Plane& plane);
// The load of the fullest link on routes that go up and then down, divided by that on shortest paths of any kind, both
// split evenly; 1 where computing it would take too long.
double gain_of_free_paths(const Plane& plane);

// The directions of arcs and the distances that follow from an order.
struct OrderedReach {
  SwitchOrder order;
  std::vector<ArcDirection> directions;
  Reach reach;
};
OrderedReach reach_on(const Plane& plane, const LivePlane& live, SwitchOrder order);
// The same on a flooded order where the given one leaves connected pairs of end ports without a route.
OrderedReach reach_all(const Plane& plane, const LivePlane& live, SwitchOrder order);

// Whether every end port has a route to every destination; end_ports_only: to every other end port.
bool all_reached(const Plane& plane, const Reach& reach, bool end_ports_only);
// Whether a pair of end ports that links connect has no route that goes up and then down. (A failure may leave the
// management port of a spine without one, because it would lead down and up again. That is no reason to lower peaks,
// which would move the routes of all.)
bool misses_connected(const Plane& plane, const LivePlane& live, const Reach& reach);

}  // namespace railweave::fabric
