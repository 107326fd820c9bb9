#include "scheduler/placement/placement_fabric.h"

#include <utility>

#include "fabric/flow/directed_link.h"

namespace railweave::scheduler {
namespace {

GpuPorts ports_of(const fabric::Topology& topology, const GpuNics& nics) {
  GpuPorts ports;
  for (const auto gpu : topology.gpus()) {
    for (const GpuNic& nic : nics.nics(gpu)) ports.ports.push_back(nic.port);
    ports.first.push_back(static_cast<std::uint32_t>(ports.ports.size()));
  }
  return ports;
}

}  // namespace

PlacementFabric::PlacementFabric(fabric::TopologyPtr topology)
    : PlacementFabric(topology, fabric::derive_locality(*topology)) {}

PlacementFabric::PlacementFabric(fabric::TopologyPtr topology, fabric::Locality locality)
    : topology_(std::move(topology)),
      locality_(std::move(locality)),
      hierarchy_(std::make_shared<const Hierarchy>(*topology_, locality_)),
      gpu_nics_(*topology_),
      bundles_(*topology_, locality_, ports_of(*topology_, gpu_nics_)),
      nominal_mbps_(capacities_mbps(fabric::FabricView(topology_))) {}

std::vector<double> PlacementFabric::capacities_mbps(const fabric::FabricView& view) const {
  std::vector<double> links = fabric::link_capacities_mbps(view);
  for (const auto link : topology_->links()) {
    if (view.drained(link)) links[link.index() * 2] = links[link.index() * 2 + 1] = 0;
  }
  return bundles_.capacities(links);
}

}  // namespace railweave::scheduler
