#include "fabric/routing/up_down/up_down_engine.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/parallel_for.h"
#include "fabric/routing/plane/switch_order.h"
#include "fabric/routing/plane/table_differences.h"
#include "fabric/routing/up_down/chosen_hops.h"
#include "fabric/routing/up_down/far_reaching_links.h"
#include "fabric/routing/up_down/plane_plan.h"
#include "fabric/routing/up_down/plane_state.h"
#include "fabric/routing/up_down/reach.h"
#include "fabric/routing/up_down/rebased_plan.h"
#include "fabric/routing/up_down/table_update.h"
#include "fabric/routing/up_down/up_down_paths.h"

namespace railweave::fabric {

namespace {

class UpDownState final : public EngineState {
 public:
  UpDownEngine::Flavor flavor = UpDownEngine::Flavor::fat_tree;
  RoutingInput input;
  std::vector<PlaneStatePtr> planes;
  ForwardingTables own;  // without chosen hops: what the next tables are computed from
};

void add_findings(const RoutingScope& scope, const Plane& plane, const PlaneState& state,
                  std::vector<Finding>& findings) {
  findings.insert(findings.end(), state.plan->findings.begin(), state.plan->findings.end());
  if (state.flooded) {
    findings.push_back({"orderLowered",
                        Severity::info,
                        "failed links leave pairs without a route that goes up and then down; peaks of the order were "
                        "lowered so that everything connected is routed on one lane",
                        {std::string(scope.topology().name(plane.switches[state.order->ascending.back()]))}});
  }
}

// If more arcs than this change at once, filling all entries is faster than finding those that change.
std::size_t most_incremental(const Plane& plane) { return std::max<std::size_t>(64, plane.arcs.size() / 512); }

// The arcs of each plane that differ between two inputs, from what was touched in between.
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

// One plane after a reroute.
struct ReroutedPlane {
  PlaneStatePtr state;
  std::optional<PlaneTables> tables;  // none: as they were
  bool incremental = true;
  std::size_t changed_entries = 0;
};

// All of a plane, on ports spread over other links than before.
ReroutedPlane rebased_plane(const Plane& plane, const PlaneStatePtr& before, const RoutingInput& input,
                            const PlanChoice& choice) {
  const PlanePlanPtr& cabled = before->plan->cabled ? before->plan->cabled : before->plan;
  ReroutedPlane result{.state = nullptr, .tables = std::nullopt, .incremental = false};
  auto now = std::make_shared<PlaneState>(
      fresh_state(plane, plan_on_basis(input, plane, cabled, choice), live_plane(plane, input)));
  result.tables = tables_of(plane, *now, input.threads);
  result.state = std::move(now);
  return result;
}

ReroutedPlane reroute_plane(const Plane& plane, const PlaneStatePtr& before, const RoutingInput& input,
                            std::vector<std::uint32_t> arcs, bool drains, const PlaneTables& tables) {
  LivePlane live;
  if (!drains) {
    if (!arcs.empty()) live = next_live(plane, input, before->live, arcs);
    if (arcs.empty()) return {.state = before, .tables = std::nullopt};
  }
  ReroutedPlane result;
  auto now = std::make_shared<PlaneState>();
  std::vector<Reach::Change> moved;
  const bool same_order = !drains && !before->flooded && arcs.size() <= most_incremental(plane);
  if (same_order) {
    *now = updated_state(plane, *before, std::move(live), arcs, moved);
  } else {
    *now = fresh_state(plane, before->plan, live_plane(plane, input));
  }
  if (same_order && !now->flooded) {
    result.tables = tables;
    result.changed_entries = update_tables(plane, *before, *now, arcs, moved, *result.tables);
  } else {
    result.incremental = false;
    result.tables = tables_of(plane, *now, input.threads);
  }
  result.state = std::move(now);
  return result;
}

bool has_chosen_hops(const FabricView& view) { return view.spread_basis() && !view.spread_basis()->hops.empty(); }

// False: there are none.
bool use_chosen_hops(const RoutingInput& input, const UpDownState& state, ForwardingTables& tables) {
  if (!has_chosen_hops(input.view)) return false;
  const RoutingScope& scope = *input.scope;
  const std::span hops(input.view.spread_basis()->hops);
  for (const PlaneId id : scope.planes()) {
    PlaneTables of_plane = tables.plane(id);
    if (set_chosen_hops(scope, id, *state.planes[id.index()], hops, of_plane) > 0) {
      tables.set_plane(id, std::move(of_plane));
    }
  }
  return true;
}

std::size_t count_differences(const ForwardingTables& a, const ForwardingTables& b) {
  std::size_t entries = 0;
  for (const PlaneId id : a.scope().planes()) {
    if (a.shares_plane(b, id)) continue;
    for_each_difference(a.plane(id), b.plane(id), [&](const TableDifference&) { ++entries; });
  }
  return entries;
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
  return {90, fmt::format("a tree of {} tiers: links join neighbouring tiers only", tiers)};
}

Result<Routing> UpDownEngine::route(const RoutingInput& input) const {
  const RoutingScope& scope = *input.scope;
  struct RoutedPlane {
    PlaneState state;
    PlaneTables tables;
  };
  std::vector<RoutedPlane> planes(scope.planes().size());
  const PlanChoice choice{.trees_only = flavor_ == Flavor::fat_tree};
  const std::size_t parts = std::clamp<std::size_t>(planes.size(), 1, std::max<std::size_t>(1, input.threads));
  on_threads()(parts, [&](std::size_t part) {
    for (std::size_t i = part; i < planes.size(); i += parts) {
      const Plane& plane = scope.plane(PlaneId(i));
      auto plan = std::make_shared<const PlanePlan>(plan_plane(scope, plane, local_weights(input, plane), choice));
      planes[i].state = fresh_state(plane, plan_on_basis(input, plane, plan, choice), live_plane(plane, input));
      planes[i].tables = tables_of(plane, planes[i].state, input.threads / parts);
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
  state->own = routing.tables;
  use_chosen_hops(input, *state, routing.tables);
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
  const PlanChoice choice{.trees_only = flavor_ == Flavor::fat_tree};
  const bool is_spread_alike = input.view.is_spread_over_same(old->input.view);
  Routing routing{.engine = name(), .tables = old->own, .incremental = true};
  routing.lanes.planes.resize(scope.planes().size());
  auto state = std::make_shared<UpDownState>();
  state->flavor = flavor_;
  state->input = input;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    ReroutedPlane rerouted =
        is_spread_alike ? reroute_plane(plane, old->planes[id.index()], input, std::move(touched.arcs[id.index()]),
                                        touched.drains[id.index()], routing.tables.plane(id))
                        : rebased_plane(plane, old->planes[id.index()], input, choice);
    if (rerouted.tables) routing.tables.set_plane(id, *std::move(rerouted.tables));
    routing.incremental = routing.incremental && rerouted.incremental;
    routing.changed_entries += rerouted.changed_entries;
    add_findings(scope, plane, *rerouted.state, routing.findings);
    routing.orders.push_back(rerouted.state->order);
    state->planes.push_back(std::move(rerouted.state));
  }
  state->own = routing.tables;
  const bool had_hops = has_chosen_hops(old->input.view);
  if (use_chosen_hops(input, *state, routing.tables) || had_hops) {
    if (routing.incremental) routing.changed_entries = count_differences(before.tables, routing.tables);
  }
  routing.state = std::move(state);
  return routing;
}

std::vector<LinkId> UpDownEngine::far_reaching_links(const Routing& routing, PlaneId plane) const {
  const auto* state = dynamic_cast<const UpDownState*>(routing.state.get());
  if (state == nullptr) return RoutingEngine::far_reaching_links(routing, plane);
  return fabric::far_reaching_links(routing.tables.scope().plane(plane), *state->planes[plane.index()]);
}

std::optional<UpDownPaths> up_down_paths(const Routing& routing, PlaneId plane) {
  const auto* state = dynamic_cast<const UpDownState*>(routing.state.get());
  if (state == nullptr) return std::nullopt;
  const PlaneState& here = *state->planes[plane.index()];
  return UpDownPaths{NextHops::up_down(routing.tables.scope().plane(plane), here.directions, here.reach), here.live};
}

}  // namespace railweave::fabric
