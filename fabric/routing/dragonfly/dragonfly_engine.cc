#include "fabric/routing/dragonfly/dragonfly_engine.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "fabric/routing/dragonfly/dragonfly_groups.h"
#include "fabric/routing/dragonfly/dragonfly_routes.h"
#include "fabric/routing/levels/level_keeping.h"
#include "fabric/routing/shaped/arc_choice.h"
#include "fabric/routing/shaped/detour_lanes.h"
#include "fabric/routing/shaped/shaped_routing.h"
#include "fabric/routing/up_down/next_hops.h"

namespace railweave::fabric {

namespace {

struct Filled {
  PlaneTables tables;
  std::vector<Detour> detours;
};

Filled fill(const Plane& plane, const LivePlane& live, DragonflyRoutes& routes) {
  using Pattern = DragonflyRoutes::Pattern;
  Filled filled;
  const auto weight = pair_weights(plane, &live);
  ColumnWriter writer(plane, filled.tables);
  DragonflyRoutes::ToHome to_home;
  std::vector<Pattern> pattern(plane.switch_count());
  for (const Home& home : plane.homes) {
    routes.compute(home.sw, to_home);
    for (std::uint32_t i = 0; i < home.count; ++i) {
      const std::uint32_t destination = home.first + i;
      std::uint16_t* column = writer.next();
      std::fill_n(column, plane.switch_count(), kNoPort);
      std::ranges::fill(pattern, Pattern::empty);
      column[home.sw] = plane.destination_port[destination];
      for (std::size_t place = 1; place < to_home.nearest_first.size(); ++place) {
        const std::uint32_t s = to_home.nearest_first[place];
        const std::uint32_t first = to_home.first_arc[place], last = to_home.first_arc[place + 1];
        const auto arcs = std::span(to_home.arcs).subspan(first, last - first);
        const std::uint32_t arc = arcs.size() == 1 ? arcs.front() : choose_arc(arcs, weight, destination);
        column[s] = plane.arcs[arc].port;
        pattern[s] = routes.prepend(arc, pattern[plane.arcs[arc].to]);
      }
      for (std::uint32_t from = 0; from < plane.homes.size(); ++from) {
        const Home& source = plane.homes[from];
        if (source.end_ports > 0 && pattern[source.sw] == Pattern::other) filled.detours.push_back({from, destination});
      }
    }
  }
  return filled;
}

Result<void> route_plane(const RoutingInput& input, PlaneId id, const DragonflyGroups& groups, Routing& routing) {
  const Plane& plane = input.scope->plane(id);
  const LivePlane live = live_plane(plane, input);
  DragonflyRoutes routes(plane, live, groups);
  LaneScheme scheme{
      .lanes = routes.lanes(), .first_single_lane = 0, .turns = [&](unsigned lanes) { return routes.turns(lanes); }};
  if (scheme.lanes.lanes > input.max_lanes) {
    return fail(ErrorKind::impossible, "routing.lanesNeeded",
                groups.text() + " needs 2 lanes to be free of deadlocks, but only 1 is allowed", {},
                "allow 2 lanes, or choose the engine up-down");
  }
  Filled filled = fill(plane, live, routes);
  const DetourOutcome outcome = place_detours(input, plane, live, filled.detours, filled.tables, scheme);
  if (scheme.lanes.lanes == 1) scheme.lanes = PlaneLanes();
  add_shaped_plane(input, id, std::move(filled.tables), std::move(scheme.lanes), outcome, routing);
  return {};
}

}  // namespace

EngineFit DragonflyEngine::fit(const RoutingScope& scope) const {
  std::string text;
  unsigned lanes = 1;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    const auto groups = DragonflyGroups::find(scope.topology(), plane);
    if (!groups && !is_tree(plane)) return {0, "a part of the fabric is neither a dragonfly nor a tree"};
    if (!groups) continue;
    if (!groups->plus && groups->groups > 1) lanes = 2;
    if (text.find(groups->text()) == std::string::npos) text += (text.empty() ? "" : " and ") + groups->text();
  }
  if (text.empty()) return {0, "no dragonfly"};
  return {85, text + ": minimal routes, on " + (lanes == 1 ? "one lane" : "two lanes")};
}

Result<Routing> DragonflyEngine::route(const RoutingInput& input) const {
  return route_keeping_levels(input, route_as_is, Preferred::as_is);
}

Result<Routing> DragonflyEngine::reroute(const Routing& before, const RoutingInput& input) const {
  return route_keeping_levels(input, route_as_is, Preferred::as_is, before.engine == kName ? &before : nullptr);
}

Result<Routing> DragonflyEngine::route_as_is(const RoutingInput& input) {
  Routing routing{.engine = kName, .tables = ForwardingTables(input.scope)};
  bool any = false;
  for (const PlaneId id : input.scope->planes()) {
    const auto groups = DragonflyGroups::find(input.scope->topology(), input.scope->plane(id));
    if (!groups) {
      route_up_down(input, id, routing);
      continue;
    }
    any = true;
    if (auto ok = route_plane(input, id, *groups, routing); !ok) return std::unexpected(ok.error());
  }
  if (!any) {
    return fail(ErrorKind::impossible, "routing.notTheShape", "no part of the fabric is a dragonfly", {},
                "choose the engine auto, up-down or layered");
  }
  return routing;
}

}  // namespace railweave::fabric
