#include "services/rest/handlers/tables_of_answer.h"

#include "services/control/views/job_ports.h"

namespace railweave::api {

void add_ages(const ControlPlane& plane, std::vector<control::TablesUsed>& tables) {
  const bool leads = plane.loop.leads();
  for (auto& one : tables) {
    const auto status = one.is_live ? plane.live.subnet(one.subnet) : nullptr;
    if (status == nullptr) continue;
    one.seen_us = status->tables_seen.oldest_us;
    if (one.seen_us != 0 || !leads || one.source == control::TablesSource::unknown) continue;
    one.source = control::TablesSource::unknown;
    one.reason = "its switches were not read since the service has started";
  }
}

std::vector<control::TablesUsed> tables_of(const ControlPlane& plane, const control::ClusterState& state,
                                           const control::FabricRoutes& routes, const std::set<std::string>& subnets) {
  auto tables = control::tables_used(state, routes, subnets);
  add_ages(plane, tables);
  return tables;
}

std::set<std::string> subnets_of(const control::ClusterState& state, std::span<const fabric::GpuId> gpus) {
  std::set<std::string> subnets;
  for (const auto port : control::job_ports(*state.placement_fabric, gpus)) {
    if (const auto subnet = state.topology().subnet(port)) subnets.emplace(state.topology().name(subnet));
  }
  return subnets;
}

}  // namespace railweave::api
