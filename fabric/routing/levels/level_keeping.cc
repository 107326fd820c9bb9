#include "fabric/routing/levels/level_keeping.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "fabric/routing/levels/level_keeper.h"

namespace railweave::fabric {

namespace {

// Everything follows from the cabling, and from what an operator said of it.
class CabledRoutes final : public EngineState {
 public:
  RoutingInput input;
  Routing routing;
  std::vector<LevelKeeper> keepers;  // by plane
};

RoutingInput as_cabled(const RoutingInput& input) {
  RoutingInput cabled = input;
  const FabricView& view = input.view;
  cabled.view = FabricView(view.topology_ptr());
  for (const LinkId link : view.topology().links()) {
    if (view.cost(link) != 1.0F) cabled.view.set_cost(link, view.cost(link));
  }
  return cabled;
}

bool is_of(const CabledRoutes& cabled, const RoutingInput& input) {
  const RoutingInput& its = cabled.input;
  if (its.scope != input.scope || its.link_cost != input.link_cost || its.max_lanes != input.max_lanes ||
      its.destination_weight != input.destination_weight) {
    return false;
  }
  bool is_same = true;
  input.view.for_each_touched_link(
      its.view, [&](LinkId link) { is_same = is_same && input.view.cost(link) == its.view.cost(link); });
  return is_same;
}

Result<std::shared_ptr<const CabledRoutes>> cabled_routes(const RoutingInput& input, const RouteAsIs& route_as_is,
                                                          const Routing* before) {
  if (before != nullptr) {
    auto known = std::dynamic_pointer_cast<const CabledRoutes>(before->state);
    if (known && is_of(*known, input)) return known;
  }
  auto made = std::make_shared<CabledRoutes>();
  made->input = as_cabled(input);
  auto routing = route_as_is(made->input);
  if (!routing) return std::unexpected(std::move(routing.error()));
  made->routing = std::move(*routing);
  for (const PlaneId id : input.scope->planes()) {
    made->keepers.emplace_back(input.scope->plane(id), made->routing.tables.plane(id),
                               made->routing.lanes.planes[id.index()]);
  }
  return made;
}

bool is_as_cabled(const LivePlane& live) {
  return live.drained_count == 0 && std::ranges::all_of(live.usable, [](std::uint8_t up) { return up != 0; });
}

bool is_as_cabled(const CabledRoutes& cabled, const RoutingInput& input) {
  return std::ranges::all_of(input.scope->planes(), [&](PlaneId id) {
    const Plane& plane = input.scope->plane(id);
    const LivePlane live = live_plane(plane, input);
    return is_as_cabled(live) && live.cost == live_plane(plane, cabled.input).cost;
  });
}

// The engine's own routes, on the levels as cabled. False: they would close a circle.
bool on_cabled_levels(const CabledRoutes& cabled, Routing& routing) {
  for (const PlaneId id : routing.tables.scope().planes()) {
    if (!cabled.keepers[id.index()].are_verified(routing.tables.plane(id))) return false;
  }
  routing.lanes = cabled.routing.lanes;
  return true;
}

// The cabled routes with detours. False: some plane has none.
bool with_detours(const CabledRoutes& cabled, const RoutingInput& input, Routing& routing) {
  for (const PlaneId id : input.scope->planes()) {
    const LivePlane live = live_plane(input.scope->plane(id), input);
    if (is_as_cabled(live)) continue;
    auto tables = cabled.keepers[id.index()].repaired(live);
    if (!tables) return false;
    routing.tables.set_plane(id, std::move(*tables));
    if (id.index() < routing.orders.size()) routing.orders[id.index()] = nullptr;
  }
  routing.findings.push_back({"levelsKept",
                              Severity::info,
                              "failures force paths onto detours, on the levels that all paths have as cabled",
                              {}});
  return true;
}

}  // namespace

Result<Routing> route_keeping_levels(const RoutingInput& input, const RouteAsIs& route_as_is, Preferred preferred,
                                     const Routing* before) {
  auto cabled = cabled_routes(input, route_as_is, before);
  if (!cabled) return route_as_is(input);  // what failed may be what it could not route
  Routing routing = (*cabled)->routing;
  routing.state = *cabled;
  if (is_as_cabled(**cabled, input)) return routing;
  Result<Routing> fresh = fail(ErrorKind::impossible, "", "");
  if (preferred == Preferred::as_is) {
    fresh = route_as_is(input);
    if (!fresh) return fresh;
    fresh->state = *cabled;
    if (on_cabled_levels(**cabled, *fresh)) return fresh;
  }
  if (with_detours(**cabled, input, routing)) return routing;
  if (preferred != Preferred::as_is) fresh = route_as_is(input);
  if (!fresh) return fresh;
  fresh->state = *cabled;
  fresh->findings.push_back({kLevelsChanged,
                             Severity::warning,
                             "failures leave no routes on the levels that paths have; senders must ask for paths again",
                             {}});
  return fresh;
}

}  // namespace railweave::fabric
