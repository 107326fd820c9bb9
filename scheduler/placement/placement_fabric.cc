#include "scheduler/placement/placement_fabric.h"

#include <utility>

namespace railweave::scheduler {

PlacementFabric::PlacementFabric(fabric::TopologyPtr topology)
    : PlacementFabric(topology, fabric::derive_locality(*topology)) {}

PlacementFabric::PlacementFabric(fabric::TopologyPtr topology, fabric::Locality locality)
    : topology_(std::move(topology)),
      locality_(std::move(locality)),
      hierarchy_(std::make_shared<const Hierarchy>(*topology_, locality_)),
      gpu_nics_(*topology_) {}

}  // namespace railweave::scheduler
