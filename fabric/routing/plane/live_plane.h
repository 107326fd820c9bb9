// A plane in its present state: which arcs carry traffic, at what cost, and which switches carry no transit. Computed
// by every engine from RoutingInput before it routes. Plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

struct LivePlane {
  std::vector<std::uint8_t> usable;   // by arc: 1 or 0; both arcs of a link alike
  std::vector<float> cost;            // by arc, at least 1; empty: all 1
  std::vector<std::uint8_t> drained;  // by switch: 1: its own end ports are served, but it carries no transit
  std::uint32_t drained_count = 0;

  [[nodiscard]] float cost_of(std::size_t arc) const { return cost.empty() ? 1.0F : cost[arc]; }
};

LivePlane live_plane(const Plane& plane, const RoutingInput& input);
// All links up, nothing drained.
LivePlane cabled_plane(const Plane& plane);

// Whether a link itself may carry transit, and at what cost, regardless of drains of the switches at its ends.
struct LinkTransit {
  bool usable = false;
  float cost = 1;
};
LinkTransit link_transit(const RoutingInput& input, LinkId link);

// The arcs in which two states of one plane differ: both arcs of each such link.
std::vector<std::uint32_t> changed_arcs(const Plane& plane, const LivePlane& before, const LivePlane& after);

}  // namespace railweave::fabric
