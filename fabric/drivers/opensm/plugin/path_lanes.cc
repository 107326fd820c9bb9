#include "fabric/drivers/opensm/plugin/path_lanes.h"

#include <algorithm>
#include <utility>

#include "fabric/drivers/opensm/plugin/table_writer.h"

namespace railweave::fabric::opensm {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

std::uint32_t arc_by_port(const Plane& plane, std::size_t s, unsigned port) {
  const auto arcs = plane.arcs_of(s);
  const auto found = std::ranges::lower_bound(arcs, port, {}, &Arc::port);
  return found != arcs.end() && found->port == port
             ? static_cast<std::uint32_t>(plane.first_arc[s] + static_cast<std::size_t>(found - arcs.begin()))
             : kNone;
}

}  // namespace

PathLanes::PathLanes(const RoutedSubnet& routed) : routing_(routed.routing) {
  for (const PlaneLanes& lanes : routing_->lanes.planes) {
    if (!lanes.single()) levels_ = std::max<unsigned>(levels_, lanes.levels);
  }
  if (levels_ == 0) return;
  const RoutingScope& scope = routing_->tables.scope();
  destination_of_lid_.assign(RoutingScope::kLastLid + 1U, kNone);
  for (const DestinationId id : scope.destinations()) {
    if (has_own_lid(scope, id)) destination_of_lid_[scope.lid(id)] = static_cast<std::uint32_t>(id.index());
  }
  for (const SwitchId sw : scope.topology().switches()) {
    const DestinationId copied = routed.switches->copied_from(sw);
    if (copied && has_own_lid(scope, sw))
      destination_of_lid_[scope.lid(sw)] = static_cast<std::uint32_t>(copied.index());
  }
}

std::optional<std::uint8_t> PathLanes::level(Lid from, Lid to) const {
  if (levels_ == 0) return std::nullopt;
  if (from >= destination_of_lid_.size() || to >= destination_of_lid_.size()) return std::nullopt;
  if (destination_of_lid_[from] == kNone || destination_of_lid_[to] == kNone) return std::nullopt;
  const RoutingScope& scope = routing_->tables.scope();
  const DestinationId source(destination_of_lid_[from]), target(destination_of_lid_[to]);
  const PlaneId id = scope.plane_of(target);
  if (scope.plane_of(source) != id) return std::nullopt;
  const Plane& plane = scope.plane(id);
  const PlaneLanes& lanes = routing_->lanes.planes[id.index()];
  return static_cast<std::uint8_t>(
      lanes.level(plane.destination_home[scope.local(source)], scope.local(target), plane.destination_count()));
}

std::vector<std::uint8_t> PathLanes::lanes(Guid sw, unsigned in, unsigned out) const {
  if (levels_ == 0) return {};
  const RoutingScope& scope = routing_->tables.scope();
  const SwitchId known = scope.topology().find_switch(sw);
  if (!known) return lanes_of_end_port();
  const PlaneId id = scope.plane_of(known);
  const Plane& plane = scope.plane(id);
  const PlaneLanes& lanes = routing_->lanes.planes[id.index()];
  const std::size_t s = scope.local(known);
  const std::uint32_t leaves = arc_by_port(plane, s, out);
  if (leaves == kNone || lanes.single()) return lanes_of_end_port();  // nothing waits behind an end port
  const std::uint32_t back = arc_by_port(plane, s, in);
  const std::uint32_t enters = back == kNone ? PlaneLanes::kFromEndPort : plane.arcs[back].reverse;
  std::vector<std::uint8_t> by_level;
  for (unsigned level = 0; level < lanes.levels; ++level) {
    by_level.push_back(static_cast<std::uint8_t>(lanes.lane(enters, leaves, level)));
  }
  return by_level;
}

std::vector<std::uint8_t> PathLanes::lanes_of_end_port() const {
  return levels_ == 0 ? std::vector<std::uint8_t>{} : std::vector<std::uint8_t>(1, 0);
}

}  // namespace railweave::fabric::opensm
