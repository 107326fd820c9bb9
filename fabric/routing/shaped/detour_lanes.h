// Engines for particular shapes prove a scheme of service levels free of credit loops for their own routes. Failures
// force some paths off those routes. Here each such path is put on a level on which it provably closes no circle with
// the scheme's turns and with the paths placed before it: a level of the scheme, or one that keeps to a single lane all
// along. Destinations with a path that fits nowhere are routed up and down on a lane of their own.
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
  // Single lanes below this one are levels of the scheme already.
  unsigned first_single_lane = 0;
  // All turns that paths on the scheme's levels may take, or more, without a circle: by channel (arc * lanes + lane)
  // the channels that follow.
  std::function<std::vector<std::vector<std::uint32_t>>(unsigned lanes)> turns;
};

// A path that the tables take and the scheme does not cover.
struct Detour {
  std::uint32_t home = 0;  // where it begins
  std::uint32_t destination = 0;
};

struct DetourOutcome {
  std::size_t on_levels = 0;     // paths placed on levels
  std::size_t up_and_down = 0;   // destinations routed up and down instead
  bool all_up_and_down = false;  // lanes did not suffice even for that: the whole plane goes up and down, on one lane
  std::shared_ptr<const SwitchOrder> order;  // of all_up_and_down
};

// detours: by destination, then home. Changes the tables only where it routes up and down; scheme.lanes becomes what
// the plane's lanes are. Uses at most input.max_lanes, which is no less than the scheme's.
DetourOutcome place_detours(const RoutingInput& input, const Plane& plane, const LivePlane& live,
                            const std::vector<Detour>& detours, PlaneTables& tables, LaneScheme& scheme);

}  // namespace railweave::fabric
