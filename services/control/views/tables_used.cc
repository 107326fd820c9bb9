#include "services/control/views/tables_used.h"

#include <algorithm>
#include <utility>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

TablesUsed tables_used(const std::string& subnet, const SubnetTables* reported) {
  if (reported == nullptr) {
    return {.subnet = subnet, .reason = "the subnet is not live: nothing was read from its switches"};
  }
  return {.subnet = subnet,
          .is_live = true,
          .source = reported->source,
          .reason = reported->reason,
          .lost_pairs = reported->lost_pairs,
          .unread = reported->unread,
          .since_us = reported->since_us};
}

std::vector<TablesUsed> tables_used(const ClusterState& state, const FabricRoutes& routes,
                                    const std::set<std::string>& subnets) {
  const auto& scope = routes.scope();
  const auto& topology = scope.topology();
  std::set<std::string> names;
  for (const auto id : scope.planes()) {
    const auto subnet = topology.subnet(scope.plane(id).switches.front());
    if (subnet) names.emplace(topology.name(subnet));
  }
  std::vector<TablesUsed> list;
  for (const auto& name : names) {
    if (!subnets.empty() && !subnets.contains(name)) continue;
    TablesUsed used = tables_used(name, state.tables(name));
    const bool is_here =
        std::ranges::any_of(routes.seen(), [&](const SeenTablesPtr& one) { return one->subnet == name; });
    if (used.source == TablesSource::seen && !is_here) {
      used.source = TablesSource::unknown;
      used.reason = "they were read by another process, and not by this one yet";
    }
    list.push_back(std::move(used));
  }
  return list;
}

}  // namespace railweave::control
