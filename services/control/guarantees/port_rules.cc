#include "services/control/guarantees/port_rules.h"

#include <algorithm>
#include <vector>

#include "fabric/qos/port_promises.h"

namespace railweave::control {

PortRules port_rules(const ClusterState& state) {
  PortRules rules;
  for (const auto& [subnet, limits] : *state.port_limits) {
    if (!rules.known) rules.arbitration.mtu_bytes = 0;
    rules.known = true;
    rules.data_lanes = std::min(rules.data_lanes, static_cast<unsigned>(limits.data_lanes));
    rules.arbitration.entries = std::min<std::size_t>(rules.arbitration.entries, limits.arbitration_entries);
    rules.arbitration.mtu_bytes = std::max(rules.arbitration.mtu_bytes, static_cast<unsigned>(limits.mtu_bytes));
  }
  return rules;
}

unsigned owned_lanes(const ClusterState& state, const fabric::QosClasses& classes, const GuaranteeBook& book) {
  const auto& routes = *book.routes();
  return fabric::owned_lanes(
      classes.size(),
      fabric::routing_lanes(routes.input.view, *routes.input.scope, routes.routing.lanes, fabric::SubnetId()),
      port_rules(state).data_lanes);
}

Result<PortRules> ports_hold(const ClusterState& state, const fabric::QosClasses& classes, const GuaranteeBook& book) {
  PortRules rules = port_rules(state);
  if (!rules.known) return rules;
  const auto& routes = *book.routes();
  rules.routing =
      fabric::routing_lanes(routes.input.view, *routes.input.scope, routes.routing.lanes, fabric::SubnetId());
  if (auto lanes = fabric::check_lanes(classes, rules.routing, rules.data_lanes); !lanes) {
    return std::unexpected(lanes.error());
  }
  fabric::PortPromises promises(classes, rules.arbitration, rules.routing.lanes);
  if (!promises.hold(std::vector<std::uint32_t>(classes.size(), 0))) {
    return fail(ErrorKind::impossible, "qos.tableTooSmall",
                std::to_string(classes.size()) + " classes x " + std::to_string(rules.routing.lanes) +
                    " lanes for the routing need as many arbitration entries, and ports have " +
                    std::to_string(rules.arbitration.entries),
                {}, "use fewer classes");
  }
  return rules;
}

}  // namespace railweave::control
