#include "fabric/routing/plane/route_trace.h"

namespace railweave::fabric {

RouteTrace trace_route(const FabricView& view, const ForwardingTables& tables, const Lanes& lanes, PortId from,
                       DestinationId to) {
  const Topology& t = view.topology();
  const RoutingScope& scope = tables.scope();
  const Destination& destination = scope.destination(to);
  const auto live = [&](PortId port) { return t.peer(port) && view.alive(t.link(port)); };

  RouteTrace trace;
  const PortId first = t.peer(from);
  SwitchId at = first ? t.switch_of(first) : SwitchId();
  if (!at || !live(from)) {
    trace.end = TraceEnd::source_cut_off;
    return trace;
  }
  const PlaneId plane_id = scope.plane_of(at);
  if (scope.plane_of(to) != plane_id) {
    trace.end = TraceEnd::other_plane;
    return trace;
  }
  const Plane& plane = scope.plane(plane_id);
  const PlaneLanes& rule = lanes.planes[plane_id.index()];
  if (const auto home = plane.home_of[scope.local(at)]; home != Plane::kNone) {
    trace.service_level = rule.level(home, scope.local(to), plane.destination_count());
  }
  trace.hops.push_back({from, first, 0});
  std::vector<bool> passed(plane.switch_count(), false);
  std::uint32_t entered_by = PlaneLanes::kFromEndPort;
  for (;;) {
    const std::uint32_t s = scope.local(at);
    if (passed[s]) {
      trace.end = TraceEnd::loop;
      return trace;
    }
    passed[s] = true;
    const std::uint16_t number = tables.out_port(at, to);
    if (number == kPortZero && !destination.port && destination.home == at) return trace;
    if (number == kNoPort || number == kPortZero || number > t.ports(at).size()) {
      trace.end = TraceEnd::no_entry;
      return trace;
    }
    const PortId out = t.ports(at)[number - 1];
    const bool last = destination.home == at && number == destination.out_port;
    if (!live(out)) {
      trace.end = last ? TraceEnd::destination_cut_off : TraceEnd::dead_port;
      return trace;
    }
    const PortId in = t.peer(out);
    const SwitchId next = t.switch_of(in);
    if (!next) {
      trace.hops.push_back({out, in, 0});
      if (in != destination.port) trace.end = TraceEnd::wrong_port;
      return trace;
    }
    const std::uint32_t leaves_by = plane.find_arc(s, number);
    trace.hops.push_back({out, in, rule.lane(entered_by, leaves_by, trace.service_level)});
    entered_by = leaves_by;
    at = next;
  }
}

}  // namespace railweave::fabric
