#include "services/control/live/routes/foreign_entries.h"

#include <algorithm>
#include <set>

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

namespace {

SubnetId subnet_of(const RoutingScope& scope, PlaneId plane) {
  return scope.topology().subnet(scope.plane(plane).switches.front());
}

}  // namespace

void note_foreign(const RoutingScope& scope, std::span<const TableReading> readings, ForeignEntries& foreign) {
  for (const TableReading& reading : readings) {
    if (!reading.answered) continue;
    std::erase_if(foreign, [&](const auto& one) { return one.first.first == reading.sw; });
    const PlaneId own = scope.plane_of(reading.sw);
    for (const PlaneId other : scope.planes()) {
      if (other == own || subnet_of(scope, other) != subnet_of(scope, own)) continue;
      const Plane& plane = scope.plane(other);
      for (std::size_t d = 0; d < plane.destination_count(); ++d) {
        const Lid lid = scope.lid(plane.destination(d));
        if (lid == 0 || lid >= reading.ports.size() || reading.ports[lid] == kNoPort) continue;
        ++foreign[{reading.sw, static_cast<std::uint16_t>(lid / kLidsPerBlock)}];
      }
    }
  }
}

void add_drops(const ForeignEntries& foreign, const Routing& wanted, ForwardingDelta& delta) {
  const RoutingScope& scope = wanted.tables.scope();
  std::set<std::pair<SwitchId, std::uint16_t>> written;
  for (const LftBlock& block : delta.blocks) written.emplace(block.sw, block.number);
  for (const auto& [block, entries] : foreign) {
    if (written.contains(block)) continue;
    delta.stages = std::max<std::uint16_t>(delta.stages, 1);
    LftBlock out{.sw = block.first,
                 .number = block.second,
                 .stage = static_cast<std::uint16_t>(delta.stages - 1),
                 .changed = entries};
    out.ports.fill(kNoPort);
    const Plane& plane = scope.plane(scope.plane_of(out.sw));
    for (std::size_t d = 0; d < plane.destination_count(); ++d) {
      const DestinationId id = plane.destination(d);
      if (scope.lid(id) / kLidsPerBlock != out.number || scope.lid(id) == 0) continue;
      out.ports[scope.lid(id) % kLidsPerBlock] = wanted.tables.out_port(out.sw, id);
    }
    delta.changed_entries += entries;
    ++delta.changed_blocks;
    delta.blocks.push_back(out);
  }
}

}  // namespace railweave::control
