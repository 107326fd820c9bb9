#include "services/railweave/assess/link_loads.h"

#include "fabric/routing/audit/column_walk.h"
#include "fabric/routing/audit/plane_audit.h"

namespace railweave::cli {

std::vector<std::uint64_t> link_loads(const fabric::FabricView& view, const fabric::ForwardingTables& tables,
                                      const std::vector<bool>& planes) {
  const fabric::PlaneLanes one_lane;  // loads are the same on any
  std::vector<std::uint64_t> loads;
  const fabric::RoutingScope& scope = tables.scope();
  for (const fabric::PlaneId id : scope.planes()) {
    const fabric::Plane& plane = scope.plane(id);
    if (plane.destination_count() == 0 || !planes[id.index()]) continue;
    const fabric::PortMap ports(plane, view);
    fabric::PlaneAudit audit(plane, ports, tables.plane(id), one_lane, 0);
    audit.run(0, static_cast<std::uint32_t>(plane.destination_count()));
    const auto& host_load = audit.tally().host_load;
    loads.insert(loads.end(), host_load.begin(), host_load.end());
  }
  return loads;
}

}  // namespace railweave::cli
