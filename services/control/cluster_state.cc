#include "services/control/cluster_state.h"

#include <utility>

#include "fabric/base/check.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::control {

ClusterState::ClusterState()
    : tenants(std::make_shared<const TenantTable>()), ended(std::make_shared<const std::deque<JobId>>()) {
  set_topology(std::make_shared<const fabric::Topology>(fabric::empty_topology()));
}

void ClusterState::set_topology(fabric::TopologyPtr topology) {
  view = fabric::FabricView(topology);
  allocations = scheduler::Allocations(topology->hosts().size());
  free_gpus = topology->gpus().size();
  gpus_held = std::make_shared<const std::map<std::string, std::uint64_t>>();
  placement_fabric = std::make_shared<const scheduler::PlacementFabric>(topology);
  accepted.topology = std::move(topology);
}

void ClusterState::hold_gpus(const Job& job, bool hold) {
  for (const auto gpu : job.placement.gpu_of_rank) {
    auto& mask = allocations.write(topology().host(gpu).index()).used;
    const std::uint64_t bit = std::uint64_t{1} << topology().local_index(gpu);
    RAILWEAVE_CHECK(((mask & bit) != 0) != hold, "a GPU belongs to at most one job");
    mask ^= bit;
  }
  const std::uint64_t gpus = job.placement.gpu_of_rank.size();
  free_gpus = hold ? free_gpus - gpus : free_gpus + gpus;
  auto held = std::make_shared<std::map<std::string, std::uint64_t>>(*gpus_held);
  auto& count = (*held)[job.spec.tenant];
  count = hold ? count + gpus : count - gpus;
  if (count == 0) held->erase(job.spec.tenant);
  gpus_held = std::move(held);
}

void ClusterState::restore(JobPtr job) {
  if (job->holds_gpus()) hold_gpus(*job, true);
  if (!job->idempotency_key.empty()) idempotency.put(job->idempotency_key, job->id);
  jobs.put(std::move(job));
}

}  // namespace railweave::control
