// A plane as it is now: which arcs carry traffic, at what cost, and which switches only end it.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

struct LivePlane {
  std::vector<std::uint8_t> usable;   // by arc; both arcs of a link alike
  std::vector<float> cost;            // by arc, at least 1; empty: all 1
  std::vector<std::uint8_t> drained;  // by switch: its own end ports are served, nothing passes through
  std::uint32_t drained_count = 0;

  [[nodiscard]] float cost_of(std::size_t arc) const { return cost.empty() ? 1.0F : cost[arc]; }
};

LivePlane live_plane(const Plane& plane, const RoutingInput& input);
// Everything as cabled: all links up, nothing drained.
LivePlane cabled_plane(const Plane& plane);

// What a link is by itself, whatever is drained at its ends. usable: it may carry transit.
struct LinkTransit {
  bool usable = false;
  float cost = 1;
};
LinkTransit link_transit(const RoutingInput& input, LinkId link);

// The arcs on which two states of one plane differ, both arcs of a link.
std::vector<std::uint32_t> changed_arcs(const Plane& plane, const LivePlane& before, const LivePlane& after);

}  // namespace railweave::fabric
