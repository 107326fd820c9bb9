#include "fabric/drivers/opensm/plugin/table_writer.h"

#include <cstring>
#include <utility>
#include <vector>

#include "fabric/drivers/opensm/plugin/seen_subnet.h"

namespace railweave::fabric::opensm {

bool has_own_lid(const RoutingScope& scope, DestinationId id) {
  const Destination& d = scope.destination(id);
  const Topology& topology = scope.topology();
  const Lid base = d.port ? topology.lid(d.port) : topology.lid(d.home);
  return base != 0 && scope.lid(id) == base + d.lid_offset;
}

bool has_own_lid(const RoutingScope& scope, SwitchId sw) {
  const Lid lid = scope.topology().lid(sw);
  return lid != 0 && scope.lid(sw) == lid;
}

void write_tables(const RoutedSubnet& routed, osm_subn_t& subnet) {
  const Routing& routing = *routed.routing;
  const RoutingScope& scope = routing.tables.scope();
  const auto is_given = [&](Lid lid) {
    return lid < cl_ptr_vector_get_size(&subnet.port_lid_tbl) &&
           cl_ptr_vector_get(&subnet.port_lid_tbl, lid) != nullptr;
  };
  // By plane: what to write where.
  std::vector<std::vector<std::pair<Lid, std::uint32_t>>> columns(scope.planes().size());
  for (const DestinationId id : scope.destinations()) {
    const Lid lid = scope.lid(id);
    if (!has_own_lid(scope, id) || !is_given(lid)) continue;
    columns[scope.plane_of(id).index()].emplace_back(lid, scope.local(id));
  }
  std::vector<SwitchId> targets;
  for (const SwitchId sw : scope.topology().switches()) {
    if (has_own_lid(scope, sw) && is_given(scope.lid(sw))) targets.push_back(sw);
  }
  std::vector<std::uint16_t> row;
  cl_qmap_t& switches = subnet.sw_guid_tbl;
  for (cl_map_item_t* at = cl_qmap_head(&switches); at != cl_qmap_end(&switches); at = cl_qmap_next(at)) {
    osm_switch_t& into = *reinterpret_cast<osm_switch_t*>(at);
    if (into.new_lft == nullptr) continue;
    std::memset(into.new_lft, OSM_NO_PATH, into.lft_size);
    const SwitchId sw = scope.topology().find_switch(guid_of(osm_node_get_node_guid(into.p_node)));
    if (!sw) continue;
    const PlaneId plane = scope.plane_of(sw);
    const PlaneTables& tables = routing.tables.plane(plane);
    const std::size_t s = scope.local(sw);
    if (s >= tables.switches()) continue;
    row.resize(tables.destinations());
    tables.read(s, 0, row.size(), row.data());
    for (const auto& [lid, destination] : columns[plane.index()]) {
      if (destination >= row.size() || row[destination] == kNoPort || lid >= into.lft_size) continue;
      into.new_lft[lid] = static_cast<std::uint8_t>(row[destination]);
    }
    for (const SwitchId target : targets) {
      const std::uint16_t port = routed.switches->port(sw, target);
      if (port != kNoPort && scope.lid(target) < into.lft_size) {
        into.new_lft[scope.lid(target)] = static_cast<std::uint8_t>(port);
      }
    }
  }
}

}  // namespace railweave::fabric::opensm
