#include "fabric/routing/torus/torus_engine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fabric/routing/levels/level_keeping.h"
#include "fabric/routing/shaped/arc_choice.h"
#include "fabric/routing/shaped/detour_lanes.h"
#include "fabric/routing/shaped/shaped_routing.h"
#include "fabric/routing/torus/torus_grid.h"
#include "fabric/routing/torus/torus_routes.h"
#include "fabric/routing/up_down/next_hops.h"

namespace railweave::fabric {

namespace {

struct Filled {
  PlaneTables tables;
  std::vector<std::uint8_t> path_level;
  std::vector<Detour> detours;
};

Filled fill(const Plane& plane, const LivePlane& live, const TorusGrid& grid, const TorusRoutes& routes) {
  Filled filled;
  const std::size_t destinations = plane.destination_count();
  const auto weight = pair_weights(plane, &live);
  filled.path_level.assign(plane.homes.size() * destinations, 0);
  ColumnWriter writer(plane, filled.tables);
  constexpr std::size_t kColumns = 64;  // levels are collected by destination and written by home
  std::vector<std::uint8_t> level_columns(kColumns * plane.homes.size());
  std::size_t column_count = 0;
  std::vector<TorusRoutes::Route> by_parity[2];
  for (std::uint32_t h = 0; h < plane.homes.size(); ++h) {
    const Home& home = plane.homes[h];
    // Destinations of a switch, and neighbouring switches, alternate between the two directions round even rings.
    unsigned parity = 0;
    for (unsigned d = 0; d < grid.dimensions(); ++d) parity += grid.coordinate(home.sw, d);
    routes.compute(home.sw, parity & 1U, by_parity[0]);
    if (home.count > 1) routes.compute(home.sw, (parity + 1) & 1U, by_parity[1]);
    for (std::uint32_t i = 0; i < home.count; ++i) {
      const std::uint32_t destination = home.first + i;
      const auto& route_of = by_parity[i % 2];
      std::uint16_t* column = writer.next();
      for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
        if (s == home.sw) {
          column[s] = plane.destination_port[destination];
        } else if (route_of[s].next == Plane::kNone) {
          column[s] = kNoPort;
        } else {
          const auto& arcs = routes.arcs(s, route_of[s].dimension, route_of[s].direction);
          const std::uint32_t arc = arcs.size() == 1 ? arcs.front() : choose_arc(arcs, weight, i / 2 + h);
          column[s] = plane.arcs[arc].port;
        }
      }
      std::uint8_t* levels = level_columns.data() + column_count++ * plane.homes.size();
      for (std::uint32_t from = 0; from < plane.homes.size(); ++from) {
        const TorusRoutes::Route& route = route_of[plane.homes[from].sw];
        levels[from] = route.level;
        if (route.detour && plane.homes[from].end_ports > 0) filled.detours.push_back({from, destination});
      }
      if (column_count == kColumns || destination + 1 == destinations) {
        const std::size_t first = destination + 1 - column_count;
        for (std::size_t from = 0; from < plane.homes.size(); ++from) {
          std::uint8_t* row = filled.path_level.data() + from * destinations + first;
          for (std::size_t c = 0; c < column_count; ++c) row[c] = level_columns[c * plane.homes.size() + from];
        }
        column_count = 0;
      }
    }
  }
  return filled;
}

Result<void> route_plane(const RoutingInput& input, PlaneId id, const TorusGrid& grid, Routing& routing) {
  const Plane& plane = input.scope->plane(id);
  const LivePlane live = live_plane(plane, input);
  const TorusRoutes routes(plane, live, grid);
  Filled filled = fill(plane, live, grid, routes);
  const bool crosses = std::ranges::any_of(filled.path_level, [](std::uint8_t level) { return level != 0; });
  LaneScheme scheme{.lanes = {}, .first_single_lane = 2, .turns = [&](unsigned lanes) { return routes.turns(lanes); }};
  DetourOutcome outcome;
  if (crosses || !filled.detours.empty()) {
    if (input.max_lanes < 2) {
      return fail(
          ErrorKind::impossible, "routing.lanesNeeded",
          "a torus of " + grid.text() + " switches needs 2 lanes to be free of deadlocks, but only 1 is allowed", {},
          "allow 2 lanes, or choose the engine up-down");
    }
    scheme.lanes = routes.lanes();
    scheme.lanes.path_level = std::move(filled.path_level);
    outcome = place_detours(input, plane, live, filled.detours, filled.tables, scheme);
  }
  add_shaped_plane(input, id, std::move(filled.tables), std::move(scheme.lanes), outcome, routing);
  return {};
}

}  // namespace

EngineFit TorusEngine::fit(const RoutingScope& scope) const {
  std::string text;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    const auto grid = TorusGrid::find(plane);
    if (!grid && !is_tree(plane)) return {0, "a part of the fabric is neither a torus nor a tree"};
    if (!grid || (!text.empty() && text.find(grid->text()) != std::string::npos)) continue;
    text += (text.empty() ? "a torus of " : " and ") + grid->text() + " switches";
  }
  if (text.empty()) return {0, "no torus"};
  return {85, text + ": dimension order with datelines, on two lanes"};
}

Result<Routing> TorusEngine::route(const RoutingInput& input) const {
  return route_keeping_levels(input, route_as_is, Preferred::as_is);
}

Result<Routing> TorusEngine::reroute(const Routing& before, const RoutingInput& input) const {
  return route_keeping_levels(input, route_as_is, Preferred::as_is, before.engine == kName ? &before : nullptr);
}

Result<Routing> TorusEngine::route_as_is(const RoutingInput& input) {
  Routing routing{.engine = kName, .tables = ForwardingTables(input.scope)};
  bool any = false;
  for (const PlaneId id : input.scope->planes()) {
    const auto grid = TorusGrid::find(input.scope->plane(id));
    if (!grid) {
      route_up_down(input, id, routing);
      continue;
    }
    any = true;
    if (auto ok = route_plane(input, id, *grid, routing); !ok) return std::unexpected(ok.error());
  }
  if (!any) {
    return fail(ErrorKind::impossible, "routing.notTheShape", "no part of the fabric is a torus", {},
                "choose the engine auto, up-down or layered");
  }
  return routing;
}

}  // namespace railweave::fabric
