// What up/down routing of a plane rests on that does not change with link states: the ranking, the order and the ports
// that would be used if nothing were broken. Made once per cabling, shared by every table computed on it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/routing_scope.h"
#include "fabric/routing/plane/switch_order.h"
#include "fabric/routing/up_down/table_fill.h"
#include "fabric/topology/finding.h"

namespace railweave::fabric {

struct PlanePlan {
  Ranking ranking;
  SwitchOrder order;
  NominalPlan nominal;
  // With all links up and nothing drained.
  std::vector<ArcWay> ways;
  Reach reach;
  std::vector<Finding> findings;
};

struct PlanChoice {
  bool trees_only = false;  // do not rank by distance from a root
  bool balance = true;      // choose ports by balancing where the closed form does not spread evenly
};

// weights: by local destination, or empty.
PlanePlan plan_plane(const RoutingScope& scope, const Plane& plane, std::span<const std::uint32_t> weights,
                     const PlanChoice& choice);

// RoutingInput::destination_weight for the destinations of a plane; empty: all alike.
std::vector<std::uint32_t> local_weights(const RoutingInput& input, const Plane& plane);
// How many times fuller the fullest link gets going up and down than on shortest paths of any kind, both split evenly;
// 1 where that would take too long to find out.
double gain_of_free_paths(const Plane& plane);

// Ways on an order, and on another one where it leaves pairs without a way that links connect.
struct OrderedReach {
  SwitchOrder order;
  std::vector<ArcWay> ways;
  Reach reach;
};
OrderedReach reach_all(const Plane& plane, const LivePlane& live, SwitchOrder order);

// Does every end port have a way to every destination, or to every other end port?
bool all_reached(const Plane& plane, const Reach& reach, bool end_ports_only);
// Is there a pair of end ports that has no way up and down, though links connect it? (A failure may leave the
// management port of a spine without one, for it would lead down and up again: no reason to lower peaks, which moves
// everybody's routes.)
bool misses_connected(const Plane& plane, const LivePlane& live, const Reach& reach);

}  // namespace railweave::fabric
