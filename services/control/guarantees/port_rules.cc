#include "services/control/guarantees/port_rules.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "fabric/qos/ethernet_plan.h"
#include "fabric/qos/port_promises.h"

namespace railweave::control {
namespace {

// Whether switches have cables of these kinds. GPUs do not send over networks for storage and management.
struct CableKinds {
  bool infiniband = false, ethernet = false;
};
CableKinds cable_kinds(const fabric::Topology& t) {
  CableKinds kinds;
  for (const auto link : t.links()) {
    const auto end = t.is_switch_port(t.a(link)) ? t.a(link) : t.b(link);
    if (!t.is_switch_port(end)) continue;
    const auto subnet = t.subnet(t.switch_of(end));
    if (subnet && (t.kind(subnet) == fabric::SubnetKind::storage || t.kind(subnet) == fabric::SubnetKind::management)) {
      continue;
    }
    kinds.infiniband = kinds.infiniband || t.kind(link) == fabric::LinkKind::infiniband;
    kinds.ethernet = kinds.ethernet || t.kind(link) == fabric::LinkKind::ethernet;
    if (kinds.infiniband && kinds.ethernet) break;
  }
  return kinds;
}

}  // namespace

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
  const CableKinds kinds = cable_kinds(state.topology());
  const unsigned on_ethernet = fabric::ethernet_lanes(classes);
  if (!kinds.infiniband) return on_ethernet;
  const unsigned on_infiniband = fabric::owned_lanes(
      classes.size(),
      fabric::routing_lanes(routes.input.view, *routes.input.scope, routes.routing.lanes, fabric::SubnetId()),
      port_rules(state).data_lanes);
  return kinds.ethernet ? std::min(on_ethernet, on_infiniband) : on_infiniband;
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
                fmt::format("{} classes x {} lanes for the routing need as many arbitration entries, and ports have {}",
                            classes.size(), rules.routing.lanes, rules.arbitration.entries),
                {}, "use fewer classes");
  }
  return rules;
}

}  // namespace railweave::control
