#include "scheduler/placement/fit/placement_fabric.h"

#include <bit>
#include <utility>

#include "fabric/flow/directed_link.h"

namespace railweave::scheduler {

PlacementFabric::PlacementFabric(fabric::TopologyPtr topology)
    : PlacementFabric(topology, fabric::derive_locality(*topology)) {}

PlacementFabric::PlacementFabric(fabric::TopologyPtr topology, fabric::Locality locality)
    : topology_(std::move(topology)),
      locality_(std::move(locality)),
      hierarchy_(std::make_shared<const Hierarchy>(*topology_, locality_)),
      leaf_of_gpu_(topology_->gpus().size()),
      domain_of_leaf_(hierarchy_->leaf_count()),
      gpu_models_(*topology_, *hierarchy_),
      gpu_ports_(scheduler::gpu_ports(*topology_)),
      gpu_nics_(*topology_, gpu_ports_),
      bundles_(*topology_, locality_, gpu_ports_),
      nominal_mbps_(capacities_mbps(fabric::FabricView(topology_))) {
  for (LeafIndex leaf = 0; leaf < hierarchy_->leaf_count(); ++leaf) {
    const auto gpus = topology_->gpus(hierarchy_->host(leaf));
    for (std::uint64_t rest = hierarchy_->gpu_mask(leaf); rest != 0; rest &= rest - 1) {
      const auto gpu = gpus[static_cast<std::size_t>(std::countr_zero(rest))];
      leaf_of_gpu_[gpu.index()] = leaf;
      domain_of_leaf_[leaf] = topology_->nvlink_domain(gpu);
    }
  }
}

std::vector<double> PlacementFabric::capacities_mbps(const fabric::FabricView& view) const {
  std::vector<double> links = fabric::link_capacities_mbps(view);
  for (const auto link : topology_->links()) {
    if (view.drained(link)) links[link.index() * 2] = links[link.index() * 2 + 1] = 0;
  }
  return bundles_.capacities(links);
}

}  // namespace railweave::scheduler
