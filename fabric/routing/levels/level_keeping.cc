#include "fabric/routing/levels/level_keeping.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fabric/routing/audit/transition.h"
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

// Whether routes and those as cabled may be mixed while switches change from one to the other, and back.
bool mix_there_and_back(const CabledRoutes& cabled, const RoutingInput& input, const Routing& routing) {
  return std::ranges::all_of(input.scope->planes(), [&](PlaneId id) {
    return !may_deadlock_between(input.view, id, cabled.routing, routing) &&
           !may_deadlock_between(cabled.input.view, id, routing, cabled.routing);
  });
}

std::vector<std::uint8_t> dead_arcs(const Plane& plane, const FabricView& view) {
  std::vector<std::uint8_t> is_dead;
  for (const Arc& arc : plane.arcs) is_dead.push_back(view.alive(arc.link) ? 0 : 1);
  return is_dead;
}

using Moments = LevelKeeper::Moments;
constexpr Moments kMixed[] = {Moments::and_back, Moments::failing}, kAlone[] = {Moments::after};

// The cabled routes with detours, free of circles in the first of these moments that is to be had. False: some plane has none.
bool with_detours(const CabledRoutes& cabled, const RoutingInput& input, std::span<const Moments> moments,
                  Routing& routing) {
  for (const PlaneId id : input.scope->planes()) {
    const Plane& plane = input.scope->plane(id);
    const LivePlane live = live_plane(plane, input);
    if (is_as_cabled(live)) continue;
    const std::vector<std::uint8_t> is_dead = dead_arcs(plane, input.view);
    std::optional<PlaneTables> tables;
    for (std::size_t i = 0; i < moments.size() && !tables; ++i) {
      tables = cabled.keepers[id.index()].repaired(live, is_dead, moments[i]);
    }
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

// Where it can be, the new routes and those as cabled are such that switches change from one to the other without a wait; then
// such that no packet has to be dropped for it.
Result<Routing> route_keeping_levels(const RoutingInput& input, const RouteAsIs& route_as_is, Preferred preferred,
                                     const Routing* before) {
  auto cabled = cabled_routes(input, route_as_is, before);
  if (!cabled) return route_as_is(input);  // what failed may be what it could not route
  Routing routing = (*cabled)->routing;
  routing.state = *cabled;
  if (is_as_cabled(**cabled, input)) return routing;
  Result<Routing> fresh = fail(ErrorKind::impossible, "", "");
  bool keeps = false;
  if (preferred == Preferred::as_is) {
    fresh = route_as_is(input);
    if (!fresh) return fresh;
    fresh->state = *cabled;
    keeps = on_cabled_levels(**cabled, *fresh);
    if (keeps && mix_there_and_back(**cabled, input, *fresh)) return fresh;
  }
  if (with_detours(**cabled, input, kMixed, routing)) return routing;
  if (keeps) return fresh;
  if (with_detours(**cabled, input, kAlone, routing)) return routing;
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
