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

void write_tables(const Routing& routing, osm_subn_t& subnet) {
  const RoutingScope& scope = routing.tables.scope();
  const std::size_t lids = cl_ptr_vector_get_size(&subnet.port_lid_tbl);
  // By plane: what to write where.
  std::vector<std::vector<std::pair<Lid, std::uint32_t>>> columns(scope.planes().size());
  for (const DestinationId id : scope.destinations()) {
    const Lid lid = scope.lid(id);
    if (!has_own_lid(scope, id) || lid >= lids || cl_ptr_vector_get(&subnet.port_lid_tbl, lid) == nullptr) continue;
    columns[scope.plane_of(id).index()].emplace_back(lid, scope.local(id));
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
  }
}

}  // namespace railweave::fabric::opensm
