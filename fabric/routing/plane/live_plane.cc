#include "fabric/routing/plane/live_plane.h"

#include <algorithm>
#include <cmath>

namespace railweave::fabric {

namespace {

// In proportion to what is left of its rate.
float degraded_cost(const FabricView& view, LinkId link) {
  const auto accepted = static_cast<float>(view.topology().rate(link).value());
  const auto now = static_cast<float>(view.rate(link).value());
  return now > 0 ? std::max(RoutingInput::kDegradedCost, accepted / now) : RoutingInput::kDegradedCost;
}

}  // namespace

LinkTransit link_transit(const RoutingInput& input, LinkId link) {
  const LinkState state = input.view.state(link);
  if (state == LinkState::down || input.view.drained(link)) return {};
  float cost = std::max(input.view.cost(link), state == LinkState::degraded ? degraded_cost(input.view, link) : 1.0F);
  if (input.link_cost && link.index() < input.link_cost->size()) cost = (*input.link_cost)[link.index()];
  if (std::isinf(cost) && cost > 0) return {};
  return {true, cost >= 1.0F ? cost : 1.0F};  // NaN becomes 1
}

LivePlane live_plane(const Plane& plane, const RoutingInput& input) {
  LivePlane live;
  live.drained.resize(plane.switch_count());
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    live.drained[s] = input.view.drained(plane.switches[s]) ? 1 : 0;
    live.drained_count += live.drained[s];
  }
  live.usable.resize(plane.arcs.size());
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
      const Arc& arc = plane.arcs[a];
      if (arc.reverse < a) continue;
      const LinkTransit link = link_transit(input, arc.link);
      // Two drained switches do not pass each other's traffic on.
      if (!link.usable || (live.drained[s] != 0 && live.drained[arc.to] != 0)) continue;
      live.usable[a] = live.usable[arc.reverse] = 1;
      if (link.cost == 1.0F) continue;
      if (live.cost.empty()) live.cost.assign(plane.arcs.size(), 1.0F);
      live.cost[a] = live.cost[arc.reverse] = link.cost;
    }
  }
  return live;
}

LivePlane cabled_plane(const Plane& plane) {
  LivePlane live;
  live.usable.assign(plane.arcs.size(), 1);
  live.drained.assign(plane.switch_count(), 0);
  return live;
}

std::vector<std::uint32_t> changed_arcs(const Plane& plane, const LivePlane& before, const LivePlane& after) {
  std::vector<std::uint32_t> arcs;
  for (std::uint32_t a = 0; a < plane.arcs.size(); ++a) {
    if (before.usable[a] != after.usable[a] || (after.usable[a] != 0 && before.cost_of(a) != after.cost_of(a))) {
      arcs.push_back(a);
    }
  }
  return arcs;
}

}  // namespace railweave::fabric
