// Lanes for the detours of engines for particular shapes (torus, dragonfly). Such an engine proves a scheme of service
// levels free of credit loops for its regular routes; failures force some paths off those routes. Here each such path
// is assigned a level on which it provably closes no circle with the scheme's turns and with the paths placed before
// it: a level of the scheme, or one that uses a single lane throughout. Destinations with a path that fits on no level
// are routed up and down on a lane of their own. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

struct LaneScheme {
  PlaneLanes lanes;  // by arc class; path_level: of every path that is no detour, or empty
  // Lanes below this one are already used alone by a level of the scheme.
  unsigned first_single_lane = 0;
  // All turns that paths on the scheme's levels may make, or a superset, free of circles: by channel (arc * lanes +
  // lane) the channels that follow.
  std::function<std::vector<std::vector<std::uint32_t>>(unsigned lanes)> turns;
};

// A path by the tables that the scheme does not cover.
struct Detour {
  std::uint32_t home = 0;  // where it begins
  std::uint32_t destination = 0;
};

struct DetourOutcome {
  std::size_t on_levels = 0;    // paths placed on levels
  std::size_t up_and_down = 0;  // destinations routed up and down instead
  bool all_up_and_down =
      false;  // lanes do not suffice even for that: the whole plane is routed up and down, on one lane
  std::shared_ptr<const SwitchOrder> order;  // the order of those routes, if all_up_and_down
};

// detours: in order of destination, then home. Changes tables only for destinations that it routes up and down; sets
// scheme.lanes to the plane's lanes. Uses at most input.max_lanes, which is no less than the scheme's.
DetourOutcome place_detours(const RoutingInput& input, const Plane& plane, const LivePlane& live,
                            const std::vector<Detour>& detours, PlaneTables& tables, LaneScheme& scheme);

}  // namespace railweave::fabric
