#include <map>
#include <string>

#include <fmt/core.h>

#include "fabric/routing/delta/forwarding_delta.h"

namespace railweave::fabric {

ForwardingDelta first_delta(const Routing& after) {
  const RoutingScope& scope = after.tables.scope();
  ForwardingDelta delta;
  delta.stages = 1;
  std::size_t without_lid = 0;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    const PlaneTables& tables = after.tables.plane(id);
    if (plane.destination_count() == 0) continue;
    std::map<std::uint16_t, std::vector<std::uint32_t>> members;  // by block: its destinations
    for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
      const Lid lid = scope.lid(plane.destination(d));
      if (lid == 0) {
        ++without_lid;
      } else {
        members[static_cast<std::uint16_t>(lid / kLidsPerBlock)].push_back(d);
      }
    }
    for (const auto& [number, destinations] : members) {
      for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
        LftBlock block{.sw = plane.switches[s], .number = number};
        block.ports.fill(kNoPort);
        for (const std::uint32_t d : destinations) {
          const std::uint16_t port = tables.at(s, d);
          block.ports[scope.lid(plane.destination(d)) % kLidsPerBlock] = port;
          block.changed = static_cast<std::uint16_t>(block.changed + (port == kNoPort ? 0 : 1));
        }
        delta.changed_entries += block.changed;
        delta.blocks.push_back(block);
      }
    }
  }
  delta.changed_blocks = delta.blocks.size();
  if (without_lid > 0) {
    delta.findings.push_back(
        {"noLid",
         Severity::warning,
         fmt::format("{} end ports have no LID and cannot be programmed into InfiniBand switches", without_lid),
         {}});
  }
  return delta;
}

}  // namespace railweave::fabric
