#include "services/control/live/routes/table_reading.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

Lid top_lid(const RoutingScope& scope) {
  Lid top = 0;
  for (const DestinationId id : scope.destinations()) top = std::max(top, scope.lid(id));
  return top;
}

std::vector<Lid> lids_seen(const RoutingScope& scope, SubnetId subnet, const FabricDriver& driver) {
  const Topology& t = scope.topology();
  std::vector<Lid> lids(scope.destinations().size(), 0);
  for (const DestinationId id : scope.destinations()) {
    const Destination& destination = scope.destination(id);
    lids[id.index()] = scope.lid(id);
    if (t.subnet(destination.home) != subnet) continue;
    const Lid base = destination.port ? driver.read_lid(t.guid(t.hca_of(destination.port)), t.number(destination.port))
                                      : driver.read_lid(t.guid(destination.home), 0);
    if (base != 0) lids[id.index()] = static_cast<Lid>(base + destination.lid_offset);
  }
  return lids;
}

Routing with_readings(const Routing& like, std::span<const TableReading> readings, std::span<const Lid> lids) {
  Routing routing = like;
  const RoutingScope& scope = like.tables.scope();
  std::map<PlaneId, PlaneTables> changed;
  for (const TableReading& reading : readings) {
    if (!reading.answered) continue;
    const PlaneId id = scope.plane_of(reading.sw);
    const Plane& plane = scope.plane(id);
    const std::uint32_t s = scope.local(reading.sw);
    const auto found = changed.find(id);
    PlaneTables tables = found == changed.end() ? like.tables.plane(id) : found->second;
    bool differs = false;
    {
      PlaneTables::Editor editor(tables);
      for (std::size_t d = 0; d < plane.destination_count(); ++d) {
        const DestinationId destination = plane.destination(d);
        const Lid lid = lids.empty() ? scope.lid(destination) : lids[destination.index()];
        if (lid == 0 || lid >= reading.ports.size() || tables.at(s, d) == reading.ports[lid]) continue;
        editor.set(s, d, reading.ports[lid]);
        differs = true;
      }
    }
    if (differs) changed.insert_or_assign(id, std::move(tables));
  }
  for (auto& [id, tables] : changed) {
    routing.tables.set_plane(id, std::move(tables));
    if (id.index() < routing.orders.size()) routing.orders[id.index()] = nullptr;
  }
  routing.state = nullptr;
  return routing;
}

Routing with_switches_of(const Routing& like, const Routing& from, const std::set<SwitchId>& switches) {
  Routing routing = like;
  const RoutingScope& scope = like.tables.scope();
  std::map<PlaneId, std::vector<std::uint32_t>> by_plane;
  for (const SwitchId sw : switches) by_plane[scope.plane_of(sw)].push_back(scope.local(sw));
  for (const auto& [id, locals] : by_plane) {
    if (like.tables.shares_plane(from.tables, id)) continue;
    const PlaneTables& theirs = from.tables.plane(id);
    PlaneTables tables = like.tables.plane(id);
    {
      PlaneTables::Editor editor(tables);
      for (const std::uint32_t s : locals) {
        for (std::size_t d = 0; d < scope.plane(id).destination_count(); ++d) editor.set(s, d, theirs.at(s, d));
      }
    }
    routing.tables.set_plane(id, std::move(tables));
    if (id.index() < routing.orders.size()) routing.orders[id.index()] = nullptr;
  }
  routing.state = nullptr;
  return routing;
}

Routing before_stage(const Routing& like, const ForwardingDelta& delta, std::uint16_t stage) {
  const RoutingScope& scope = like.tables.scope();
  std::vector<const LftBlock*> blocks;
  for (const LftBlock& block : delta.blocks) {
    if (block.stage < stage) blocks.push_back(&block);
  }
  std::ranges::stable_sort(blocks, {}, &LftBlock::stage);
  std::map<SwitchId, std::map<std::uint16_t, const LftBlock*>> last;
  for (const LftBlock* block : blocks) last[block->sw][block->number] = block;
  std::vector<TableReading> readings;
  for (const auto& [sw, of_switch] : last) {
    TableReading reading{sw, true, std::vector<std::uint16_t>(top_lid(scope) + std::size_t{1}, kNoPort)};
    const Plane& plane = scope.plane(scope.plane_of(sw));
    for (std::size_t d = 0; d < plane.destination_count(); ++d) {
      const Lid lid = scope.lid(plane.destination(d));
      if (lid == 0) continue;
      const auto block = of_switch.find(static_cast<std::uint16_t>(lid / kLidsPerBlock));
      reading.ports[lid] = block != of_switch.end() ? block->second->ports.at(lid % kLidsPerBlock)
                                                    : like.tables.plane(scope.plane_of(sw)).at(scope.local(sw), d);
    }
    readings.push_back(std::move(reading));
  }
  return with_readings(like, readings);
}

namespace {

// Calls visit(destination, out port) -> bool for a switch's entries until it returns false.
template <class Visit>
void visit_row(const ForwardingTables& tables, SwitchId sw, std::vector<std::uint16_t>& row, Visit visit) {
  const RoutingScope& scope = tables.scope();
  const PlaneId id = scope.plane_of(sw);
  const Plane& plane = scope.plane(id);
  row.resize(plane.destination_count());
  if (row.empty()) return;
  tables.plane(id).read(scope.local(sw), 0, row.size(), row.data());
  for (std::size_t d = 0; d < row.size(); ++d) {
    if (!visit(scope.destination(plane.destination(d)), row[d])) return;
  }
}

}  // namespace

std::uint64_t entries_by_port(const ForwardingTables& tables, SwitchId sw, unsigned port, SwitchId but_home) {
  std::vector<std::uint16_t> row;
  std::uint64_t count = 0;
  visit_row(tables, sw, row, [&](const Destination& destination, std::uint16_t out) {
    if (out == port && destination.home != but_home) ++count;
    return true;
  });
  return count;
}

bool carry_nothing(const ForwardingTables& tables, std::span<const SwitchId> switches) {
  std::vector<std::uint16_t> row;
  bool nothing = true;
  for (const SwitchId sw : switches) {
    visit_row(tables, sw, row, [&](const Destination& destination, std::uint16_t out) {
      nothing = out == kNoPort || !destination.port;
      return nothing;
    });
    if (!nothing) return false;
  }
  return true;
}

std::vector<PlaneId> planes_of(const RoutingScope& scope, std::span<const SwitchId> switches) {
  std::set<PlaneId> planes;
  for (const SwitchId sw : switches) planes.insert(scope.plane_of(sw));
  return {planes.begin(), planes.end()};
}

namespace {

std::set<std::uint16_t> blocks_of(const RoutingScope& scope, PlaneId id) {
  std::set<std::uint16_t> blocks;
  const Plane& plane = scope.plane(id);
  for (std::size_t d = 0; d < plane.destination_count(); ++d) {
    if (const Lid lid = scope.lid(plane.destination(d)); lid != 0) blocks.insert(lid / kLidsPerBlock);
  }
  return blocks;
}

}  // namespace

std::vector<fabric::SwitchId> switches_of(const fabric::ForwardingDelta& delta) {
  std::vector<fabric::SwitchId> switches;
  for (const fabric::LftBlock& block : delta.blocks) switches.push_back(block.sw);
  std::ranges::sort(switches);
  switches.erase(std::ranges::unique(switches).begin(), switches.end());
  return switches;
}

std::uint64_t block_count(const RoutingScope& scope, std::span<const SwitchId> switches) {
  std::map<PlaneId, std::uint64_t> of_plane;
  for (const PlaneId id : planes_of(scope, switches)) of_plane[id] = blocks_of(scope, id).size();
  std::uint64_t count = 0;
  for (const SwitchId sw : switches) count += of_plane[scope.plane_of(sw)];
  return count;
}

std::uint64_t differing_blocks(const ForwardingTables& a, const ForwardingTables& b,
                               std::span<const SwitchId> switches) {
  const RoutingScope& scope = a.scope();
  std::uint64_t count = 0;
  std::vector<std::uint16_t> one;
  std::vector<std::uint16_t> other;
  for (const SwitchId sw : switches) {
    const PlaneId id = scope.plane_of(sw);
    if (a.shares_plane(b, id)) continue;
    const Plane& plane = scope.plane(id);
    one.resize(plane.destination_count());
    other.resize(plane.destination_count());
    a.plane(id).read(scope.local(sw), 0, one.size(), one.data());
    b.plane(id).read(scope.local(sw), 0, other.size(), other.data());
    std::set<std::uint16_t> blocks;
    for (std::size_t d = 0; d < one.size(); ++d) {
      if (one[d] != other[d]) blocks.insert(scope.lid(plane.destination(d)) / kLidsPerBlock);
    }
    count += blocks.size();
  }
  return count;
}

std::uint64_t digest_of(const Routing& routing, std::span<const SwitchId> switches) {
  return routing.tables.digest(planes_of(routing.tables.scope(), switches));
}

bool same_tables(const ForwardingTables& a, const ForwardingTables& b) {
  if (&a.scope() != &b.scope()) return false;
  return std::ranges::all_of(a.scope().planes(), [&](PlaneId id) { return a.shares_plane(b, id); });
}

}  // namespace railweave::control
