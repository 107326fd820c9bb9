#include "fabric/routing/up_down/up_down_engine.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/parallel_for.h"
#include "fabric/routing/plane/switch_order.h"
#include "fabric/routing/up_down/plane_plan.h"
#include "fabric/routing/up_down/reach.h"
#include "fabric/routing/up_down/table_fill.h"
#include "fabric/routing/up_down/up_down_paths.h"

namespace railweave::fabric {

namespace {

struct PlaneState {
  std::shared_ptr<const PlanePlan> plan;
  LivePlane live;
  std::shared_ptr<const SwitchOrder> order;
  bool flooded = false;  // for want of a way that the plan's order has none for
  std::vector<ArcWay> ways;
  Reach reach;
};
using PlaneStatePtr = std::shared_ptr<const PlaneState>;

class UpDownState final : public EngineState {
 public:
  UpDownEngine::Flavor flavor = UpDownEngine::Flavor::fat_tree;
  RoutingInput input;
  std::vector<PlaneStatePtr> planes;
};

// Distances on an order.
void follow(const Plane& plane, PlaneState& state, SwitchOrder order) {
  state.order = std::make_shared<const SwitchOrder>(std::move(order));
  state.ways = arc_ways(plane, state.live, *state.order);
  state.reach = Reach(plane, state.ways, *state.order);
}

PlaneState fresh_state(const Plane& plane, std::shared_ptr<const PlanePlan> plan, LivePlane live) {
  PlaneState state;
  state.plan = std::move(plan);
  state.live = std::move(live);
  if (state.live.drained_count == 0 &&
      std::ranges::all_of(state.live.usable, [](std::uint8_t up) { return up != 0; })) {
    state.order = std::shared_ptr<const SwitchOrder>(state.plan, &state.plan->order);
    state.ways = state.plan->ways;
    state.reach = state.plan->reach;
  } else {
    follow(plane, state, lower_drained(state.plan->order, state.live));
  }
  return state;
}

// Where the plan's order leaves pairs without a way that links connect, another order.
void complete(const Plane& plane, PlaneState& state) {
  if (all_reached(plane, state.reach, true) || !misses_connected(plane, state.live, state.reach)) return;
  follow(plane, state, flooded(plane, state.live, *state.order));
  state.flooded = true;
}

PlaneTables fill(const Plane& plane, const PlaneState& state, std::size_t threads) {
  return TableFill(plane, state.live, state.ways, state.reach, state.plan->nominal).all(threads);
}

void add_findings(const RoutingScope& scope, const Plane& plane, const PlaneState& state,
                  std::vector<Finding>& findings) {
  findings.insert(findings.end(), state.plan->findings.begin(), state.plan->findings.end());
  if (state.flooded) {
    findings.push_back({"orderLowered",
                        Severity::info,
                        "links that failed leave pairs without a way up and down; peaks were lowered so that all that "
                        "is connected is routed on one lane",
                        {std::string(scope.topology().name(plane.switches[state.order->ascending.back()]))}});
  }
}

// (switch, home) pairs whose entries may change, each once.
class AffectedBlocks {
 public:
  AffectedBlocks(std::size_t switches, std::size_t homes) : homes_(homes), seen_(switches * homes, false) {}
  [[nodiscard]] bool has(std::uint32_t s, std::uint32_t home) const { return seen_[s * homes_ + home]; }
  void add(std::uint32_t s, std::uint32_t home) {
    if (seen_[s * homes_ + home]) return;
    seen_[s * homes_ + home] = true;
    blocks_.emplace_back(s, home);
  }
  [[nodiscard]] const std::vector<std::pair<std::uint32_t, std::uint32_t>>& sorted() {
    std::ranges::sort(blocks_);
    return blocks_;
  }

 private:
  std::size_t homes_;
  std::vector<bool> seen_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks_;
};

// From the state `before`, on the same order, to `after`; returns the number of entries that changed.
std::size_t update_plane(const Plane& plane, const PlaneState& before, PlaneState& after,
                         const std::vector<std::uint32_t>& changed_arcs, const std::vector<Reach::Change>& moved,
                         PlaneTables& tables) {
  AffectedBlocks affected(plane.switch_count(), plane.homes.size());
  // Where one arc up no longer leads and nothing else is different, only its own destinations move.
  struct Lost {
    std::uint32_t s, home;
    std::uint16_t port;
  };
  std::vector<Lost> lost;
  std::vector<bool> losing(plane.switch_count() * plane.homes.size(), false);
  const bool layered = before.reach.layered() && after.reach.layered();
  // What becomes of the way from switch s by arc a to a home. While the arc itself is as it was, nothing does where it
  // leads there as before.
  const auto look = [&](std::uint32_t s, std::uint32_t a, std::uint32_t home, bool same_arc) {
    const bool led = before.reach.leads(plane, before.ways, s, a, home);
    const bool leads = after.reach.leads(plane, after.ways, s, a, home);
    if (led == leads && (same_arc || !led)) return;
    if (layered && led && !leads && before.ways[a] == ArcWay::up && !losing[s * plane.homes.size() + home]) {
      losing[s * plane.homes.size() + home] = true;
      lost.push_back({s, home, plane.arcs[a].port});
    } else {
      affected.add(s, home);
    }
  };
  for (const auto [s, home] : moved) {
    affected.add(s, home);
    for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
      const std::uint32_t back = plane.arcs[a].reverse;
      if (before.ways[back] == ArcWay::none && after.ways[back] == ArcWay::none) continue;
      if (layered) {
        look(plane.arcs[a].to, back, home, true);
      } else {
        affected.add(plane.arcs[a].to, home);
      }
    }
  }
  for (const std::uint32_t a : changed_arcs) {
    const std::uint32_t s = plane.arcs[plane.arcs[a].reverse].to;
    for (std::uint32_t home = 0; home < plane.homes.size(); ++home) look(s, a, home, false);
  }
  std::size_t changed = 0;
  TableFill fill(plane, after.live, after.ways, after.reach, after.plan->nominal);
  PlaneTables::Editor editor(tables);
  std::vector<std::uint16_t> ports, old;
  const auto put = [&](std::uint32_t s, const Home& home) {
    for (std::uint32_t i = 0; i < home.count; ++i) {
      if (ports[i] == old[i]) continue;
      editor.set(s, home.first + i, ports[i]);
      ++changed;
    }
  };
  const auto read = [&](std::uint32_t s, const Home& home) {
    old.resize(home.count);
    tables.read(s, home.first, home.count, old.data());
  };
  for (const auto& [s, h] : affected.sorted()) {
    fill.block(s, h, ports);
    read(s, plane.homes[h]);
    put(s, plane.homes[h]);
  }
  for (const Lost& one : lost) {
    if (affected.has(one.s, one.home)) continue;
    read(one.s, plane.homes[one.home]);
    ports = old;
    fill.without(one.s, one.home, one.port, ports);
    put(one.s, plane.homes[one.home]);
  }
  return changed;
}

// Where more arcs than this change at once, filling everything is faster than finding out what changes.
std::size_t most_incremental(const Plane& plane) { return std::max<std::size_t>(64, plane.arcs.size() / 512); }

// The arcs of each plane that differ between two inputs, found by looking at what was touched in between.
struct Touched {
  std::vector<std::vector<std::uint32_t>> arcs;  // by plane, both arcs of a link
  std::vector<bool> drains;                      // by plane: a switch was drained or undrained
};

Touched find_touched(const UpDownState& before, const RoutingInput& input) {
  const RoutingScope& scope = *input.scope;
  Touched touched{std::vector<std::vector<std::uint32_t>>(scope.planes().size()),
                  std::vector<bool>(scope.planes().size(), false)};
  input.view.for_each_touched_switch(before.input.view, [&](SwitchId sw) {
    if (input.view.drained(sw) != before.input.view.drained(sw)) touched.drains[scope.plane_of(sw).index()] = true;
  });
  input.view.for_each_touched_link(before.input.view, [&](LinkId link) {
    const auto [plane, arc] = scope.arc_of(link);
    if (arc == Plane::kNone) return;
    const LinkTransit now = link_transit(input, link), then = link_transit(before.input, link);
    if (now.usable == then.usable && now.cost == then.cost) return;
    touched.arcs[plane.index()].push_back(arc);
    touched.arcs[plane.index()].push_back(scope.plane(plane).arcs[arc].reverse);
  });
  return touched;
}

// `live` after the arcs listed changed and no drain did. Keeps of them those that really carry something else now.
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

}  // namespace

EngineFit UpDownEngine::fit(const RoutingScope& scope) const {
  std::uint32_t tiers = 0;
  bool layered = true;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    const Ranking ranking = tier_ranking(plane);
    tiers = std::max(tiers, std::ranges::max(ranking) + 1);
    layered = layered && is_layered(plane, ranking);
  }
  if (flavor_ == Flavor::up_down) return {50, "works on any fabric, on one lane"};
  if (!layered) return {30, "some links join switches of one tier: no tree"};
  return {90, "a tree of " + std::to_string(tiers) + " tiers: links join neighbouring tiers only"};
}

Result<Routing> UpDownEngine::route(const RoutingInput& input) const {
  const RoutingScope& scope = *input.scope;
  struct RoutedPlane {
    PlaneState state;
    PlaneTables tables;
  };
  std::vector<RoutedPlane> planes(scope.planes().size());
  const std::size_t parts = std::clamp<std::size_t>(planes.size(), 1, std::max<std::size_t>(1, input.threads));
  on_threads()(parts, [&](std::size_t part) {
    for (std::size_t i = part; i < planes.size(); i += parts) {
      const Plane& plane = scope.plane(PlaneId(i));
      auto plan = std::make_shared<PlanePlan>(
          plan_plane(scope, plane, local_weights(input, plane), {.trees_only = flavor_ == Flavor::fat_tree}));
      planes[i].state = fresh_state(plane, std::move(plan), live_plane(plane, input));
      complete(plane, planes[i].state);
      planes[i].tables = fill(plane, planes[i].state, input.threads / parts);
    }
  });
  Routing routing{.engine = name(), .tables = ForwardingTables(input.scope)};
  routing.lanes.planes.resize(planes.size());
  auto state = std::make_shared<UpDownState>();
  state->flavor = flavor_;
  state->input = input;
  for (const PlaneId id : scope.planes()) {
    RoutedPlane& routed = planes[id.index()];
    routing.tables.set_plane(id, std::move(routed.tables));
    add_findings(scope, scope.plane(id), routed.state, routing.findings);
    routing.orders.push_back(routed.state.order);
    state->planes.push_back(std::make_shared<PlaneState>(std::move(routed.state)));
  }
  routing.state = std::move(state);
  return routing;
}

Result<Routing> UpDownEngine::reroute(const Routing& before, const RoutingInput& input) const {
  const auto* old = dynamic_cast<const UpDownState*>(before.state.get());
  if (old == nullptr || old->flavor != flavor_ || old->input.scope != input.scope ||
      old->input.link_cost != input.link_cost || old->input.destination_weight != input.destination_weight) {
    return route(input);
  }
  const RoutingScope& scope = *input.scope;
  Touched touched = find_touched(*old, input);
  Routing routing{.engine = name(), .tables = before.tables, .incremental = true};
  routing.lanes.planes.resize(scope.planes().size());
  auto state = std::make_shared<UpDownState>();
  state->flavor = flavor_;
  state->input = input;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    const PlaneState& then = *old->planes[id.index()];
    auto& arcs = touched.arcs[id.index()];
    const bool drains = touched.drains[id.index()];
    PlaneState now;
    if (!drains) {
      if (!arcs.empty()) now.live = next_live(plane, input, then.live, arcs);
      if (arcs.empty()) {
        state->planes.push_back(old->planes[id.index()]);
        add_findings(scope, plane, then, routing.findings);
        routing.orders.push_back(then.order);
        continue;
      }
    }
    std::vector<Reach::Change> moved;
    bool same_order = !drains && !then.flooded && arcs.size() <= most_incremental(plane);
    if (same_order) {
      now.plan = then.plan;
      now.order = then.order;
      now.ways = then.ways;
      for (const std::uint32_t a : arcs) {
        const std::uint32_t s = plane.arcs[plane.arcs[a].reverse].to;
        const bool up = now.order->position[plane.arcs[a].to] > now.order->position[s];
        now.ways[a] = now.live.usable[a] == 0 ? ArcWay::none : up ? ArcWay::up : ArcWay::down;
      }
      now.reach = then.reach;
      moved = now.reach.update(plane, now.ways, *now.order, arcs);
    } else {
      now = fresh_state(plane, then.plan, live_plane(plane, input));
    }
    complete(plane, now);
    PlaneTables tables = routing.tables.plane(id);
    if (same_order && !now.flooded) {
      routing.changed_entries += update_plane(plane, then, now, arcs, moved, tables);
      routing.tables.set_plane(id, std::move(tables));
    } else {
      routing.incremental = false;
      routing.tables.set_plane(id, fill(plane, now, input.threads));
    }
    add_findings(scope, plane, now, routing.findings);
    routing.orders.push_back(now.order);
    state->planes.push_back(std::make_shared<PlaneState>(std::move(now)));
  }
  routing.state = std::move(state);
  return routing;
}

std::optional<UpDownPaths> up_down_paths(const Routing& routing, PlaneId plane) {
  const auto* state = dynamic_cast<const UpDownState*>(routing.state.get());
  if (state == nullptr) return std::nullopt;
  const PlaneState& here = *state->planes[plane.index()];
  return UpDownPaths{NextHops::up_down(routing.tables.scope().plane(plane), here.ways, here.reach), here.live};
}

}  // namespace railweave::fabric
