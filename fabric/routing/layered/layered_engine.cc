#include "fabric/routing/layered/layered_engine.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/routing/levels/level_keeping.h"
#include "fabric/routing/plane/acyclic_turns.h"
#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/port_arcs.h"
#include "fabric/routing/up_down/next_hops.h"
#include "fabric/routing/up_down/plane_plan.h"
#include "fabric/routing/up_down/port_balance.h"
#include "fabric/routing/up_down/reach.h"
#include "fabric/routing/up_down/table_fill.h"

namespace railweave::fabric {

namespace {

// Assigns every path of a plane's tables to a lane.
class LaneAssignment {
 public:
  LaneAssignment(const Plane& plane, const std::vector<ArcDirection>& directions, unsigned max_lanes)
      : plane_(plane),
        directions_(directions),
        max_lanes_(std::clamp(max_lanes, 1U, kMaxDataLanes)),
        level_(plane.homes.size() * plane.destination_count(), 0),
        port_arcs_(plane) {}

  // False: some path of the destination fits on no lane.
  bool assign(const PlaneTables& tables, std::uint32_t destination) {
    const std::uint32_t end = plane_.homes[plane_.destination_home[destination]].sw;
    for (std::size_t h = 0; h < plane_.homes.size(); ++h) {
      const Home& from = plane_.homes[h];
      std::uint8_t& level = level_[h * plane_.destination_count() + destination];
      level = 0;
      if (from.end_ports == 0 || from.sw == end) continue;
      path_.clear();
      bool up_and_down = true;
      for (std::uint32_t at = from.sw; at != end;) {
        const std::uint32_t arc = port_arcs_.arc(at, tables.at(at, destination));
        if (arc == Plane::kNone) break;  // cut off
        if (!path_.empty() && directions_[path_.back()] == ArcDirection::down && directions_[arc] == ArcDirection::up)
          up_and_down = false;
        path_.push_back(arc);
        at = plane_.arcs[arc].to;
      }
      if (up_and_down) continue;
      unsigned lane = 1;
      for (; lane < max_lanes_; ++lane) {
        if (lane > lanes_.size()) lanes_.emplace_back(plane_);
        if (lanes_[lane - 1].add_path(path_)) break;
      }
      if (lane == max_lanes_) return false;
      level = static_cast<std::uint8_t>(lane);
    }
    return true;
  }
  void put_on_lane_zero(std::uint32_t destination) {
    for (std::size_t h = 0; h < plane_.homes.size(); ++h) level_[h * plane_.destination_count() + destination] = 0;
  }

  [[nodiscard]] PlaneLanes lanes() && {
    PlaneLanes lanes;
    lanes.lanes = lanes.levels = static_cast<std::uint8_t>(level_.empty() ? 1 : std::ranges::max(level_) + 1);
    if (lanes.lanes > 1) lanes.path_level = std::move(level_);
    return lanes;
  }

 private:
  const Plane& plane_;
  const std::vector<ArcDirection>& directions_;
  unsigned max_lanes_;
  std::vector<std::uint8_t> level_;
  PortArcs port_arcs_;
  std::vector<AcyclicTurns> lanes_;  // from lane 1 on
  std::vector<std::uint32_t> path_;
};

void copy_column(const Plane& plane, const PlaneTables& from, std::uint32_t destination, PlaneTables::Editor& to) {
  for (std::size_t s = 0; s < plane.switch_count(); ++s) to.set(s, destination, from.at(s, destination));
}

struct PlaneResult {
  PlaneTables tables;
  PlaneLanes lanes;
  std::size_t up_and_down = 0;  // destinations for which lanes did not suffice
};

PlaneResult route_plane(const RoutingInput& input, const Plane& plane) {
  const LivePlane live = live_plane(plane, input);
  const auto weights = local_weights(input, plane);
  const PlanePlan plan = plan_plane(*input.scope, plane, weights, {.balance = false});
  const auto [order, directions, reach] = reach_all(plane, live, lower_drained(plan.order, live));
  PlaneResult result;
  const NextHops hops = NextHops::shortest(plane, live);
  result.tables = balance_ports(plane, hops, pair_weights(plane, &live), weights).tables;
  LaneAssignment assignment(plane, directions, input.max_lanes);
  std::vector<std::uint32_t> unplaced;
  for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
    if (!assignment.assign(result.tables, d)) unplaced.push_back(d);
  }
  if (!unplaced.empty()) {
    const PlaneTables fallback = TableFill(plane, live, directions, reach, plan.nominal).all();
    PlaneTables::Editor editor(result.tables);
    for (const std::uint32_t d : unplaced) {
      copy_column(plane, fallback, d, editor);
      assignment.put_on_lane_zero(d);
    }
  }
  result.up_and_down = unplaced.size();
  result.lanes = std::move(assignment).lanes();
  return result;
}

}  // namespace

EngineFit LayeredEngine::fit(const RoutingScope& scope) const {
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    if (plane.homes.size() < 2) continue;
    const auto gain = gain_of_free_paths(plane);
    if (gain > 1.25) {
      char text[96];
      std::snprintf(text, sizeof text,
                    "with shortest paths the fullest link carries %.1f times less than with up and down", gain);
      return {60, text};
    }
  }
  return {20, "works on any fabric, but may need several lanes"};
}

Result<Routing> LayeredEngine::route(const RoutingInput& input) const {
  return route_keeping_levels(input, route_as_is, Preferred::cabled_with_detours);
}

Result<Routing> LayeredEngine::reroute(const Routing& before, const RoutingInput& input) const {
  return route_keeping_levels(input, route_as_is, Preferred::cabled_with_detours,
                              before.engine == kName ? &before : nullptr);
}

Result<Routing> LayeredEngine::route_as_is(const RoutingInput& input) {
  Routing routing{.engine = kName, .tables = ForwardingTables(input.scope)};
  std::size_t up_and_down = 0;
  for (const PlaneId id : input.scope->planes()) {
    PlaneResult result = route_plane(input, input.scope->plane(id));
    routing.tables.set_plane(id, std::move(result.tables));
    routing.lanes.planes.push_back(std::move(result.lanes));
    up_and_down += result.up_and_down;
  }
  if (up_and_down > 0) {
    routing.findings.push_back(
        {"lanesShort",
         Severity::info,
         fmt::format("shortest paths to {} destinations need more than {} lanes; they are routed up and down instead",
                     up_and_down, input.max_lanes),
         {}});
  }
  return routing;
}

}  // namespace railweave::fabric
