#include "services/control/live/routes/dropped_ports.h"

#include <map>
#include <utility>

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

Routing without(const Routing& routing, std::span<const LinkId> links, const Routing* before) {
  const RoutingScope& scope = routing.tables.scope();
  const Topology& t = scope.topology();
  std::map<PlaneId, PlaneTables> changed;
  for (const LinkId link : links) {
    const PortId end = t.is_switch_port(t.a(link)) ? t.b(link) : t.a(link);
    if (!scope.find(end)) continue;
    for (unsigned offset = 0; offset < scope.lid_count(end); ++offset) {
      const DestinationId id = scope.find(end, offset);
      const PlaneId plane = scope.plane_of(id);
      const auto tables = changed.try_emplace(plane, routing.tables.plane(plane)).first;
      PlaneTables::Editor(tables->second).set(scope.local(scope.destination(id).home), scope.local(id), kNoPort);
    }
  }
  Routing dropped = routing;
  dropped.state = nullptr;
  for (auto& [plane, tables] : changed) {
    if (before != nullptr && &before->tables.scope() == &scope && before->tables.plane(plane) == tables) {
      dropped.tables.share_plane(before->tables, plane);
    } else {
      dropped.tables.set_plane(plane, std::move(tables));
    }
  }
  return dropped;
}

}  // namespace railweave::control
