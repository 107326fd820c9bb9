#include "fabric/routing/up_down/plane_state.h"

#include <algorithm>
#include <utility>

#include "fabric/routing/up_down/table_fill.h"

namespace railweave::fabric {

namespace {

bool is_whole(const LivePlane& live) {
  return live.drained_count == 0 && std::ranges::all_of(live.usable, [](std::uint8_t up) { return up != 0; });
}

void follow(const Plane& plane, PlaneState& state, SwitchOrder order) {
  OrderedReach found = reach_on(plane, state.live, std::move(order));
  state.order = std::make_shared<const SwitchOrder>(std::move(found.order));
  state.directions = std::move(found.directions);
  state.reach = std::move(found.reach);
}

// Another order, where the present one leaves connected pairs without a route.
void complete(const Plane& plane, PlaneState& state) {
  if (all_reached(plane, state.reach, true) || !misses_connected(plane, state.live, state.reach)) return;
  follow(plane, state, flooded(plane, state.live, *state.order));
  state.flooded = true;
}

}  // namespace

PlaneState fresh_state(const Plane& plane, std::shared_ptr<const PlanePlan> plan, LivePlane live) {
  PlaneState state;
  state.plan = std::move(plan);
  state.live = std::move(live);
  if (is_whole(state.live)) {
    state.order = std::shared_ptr<const SwitchOrder>(state.plan, &state.plan->order);
    state.directions = state.plan->directions;
    state.reach = state.plan->reach;
  } else {
    follow(plane, state, lower_drained(state.plan->order, state.live));
  }
  complete(plane, state);
  return state;
}

PlaneState updated_state(const Plane& plane, const PlaneState& before, LivePlane live,
                         const std::vector<std::uint32_t>& arcs, std::vector<Reach::Change>& moved) {
  PlaneState state;
  state.plan = before.plan;
  state.live = std::move(live);
  state.order = before.order;
  state.directions = before.directions;
  for (const std::uint32_t a : arcs) {
    const std::uint32_t s = plane.arcs[plane.arcs[a].reverse].to;
    const bool up = state.order->position[plane.arcs[a].to] > state.order->position[s];
    state.directions[a] = state.live.usable[a] == 0 ? ArcDirection::none : up ? ArcDirection::up : ArcDirection::down;
  }
  state.reach = before.reach;
  moved = state.reach.update(plane, state.directions, *state.order, arcs);
  complete(plane, state);
  return state;
}

PlaneTables tables_of(const Plane& plane, const PlaneState& state, std::size_t threads) {
  const PlanePlan& plan = *state.plan;
  // Ports that were chosen among the very next hops that there are.
  const bool as_planned = is_whole(state.live) && !state.flooded && state.live.cost.empty() && plan.cabled == nullptr;
  if (as_planned && plan.nominal.table.destinations() > 0) return plan.nominal.table;
  return TableFill(plane, state.live, state.directions, state.reach, state.plan->nominal).all(threads);
}

LivePlane next_live(const Plane& plane, const RoutingInput& input, const LivePlane& before,
                    std::vector<std::uint32_t>& arcs) {
  LivePlane live = before;
  std::erase_if(arcs, [&](std::uint32_t a) {
    const Arc& arc = plane.arcs[a];
    const LinkTransit link = link_transit(input, arc.link);
    const bool both_drained = live.drained[arc.to] != 0 && live.drained[plane.arcs[arc.reverse].to] != 0;
    const std::uint8_t usable = link.usable && !both_drained ? 1 : 0;
    if (usable != 0 && link.cost != 1.0F && live.cost.empty()) live.cost.assign(plane.arcs.size(), 1.0F);
    const float cost = usable != 0 ? link.cost : 1.0F;
    const bool same = live.usable[a] == usable && live.cost_of(a) == cost;
    live.usable[a] = usable;
    if (!live.cost.empty()) live.cost[a] = cost;
    return same;
  });
  if (std::ranges::all_of(live.cost, [](float cost) { return cost == 1.0F; })) live.cost.clear();
  return live;
}

}  // namespace railweave::fabric
