// The load of a placed job on every directed link of the network, along the real routes: each flow of its groups is
// walked by the forwarding tables. NVLink is the job's own; its time is in the floors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/flow/flow_paths.h"
#include "scheduler/collective/calibration.h"
#include "scheduler/collective/fabric_bundles.h"
#include "scheduler/collective/gpu_ports.h"
#include "scheduler/collective/link_traffic.h"

namespace railweave::scheduler {

// Flows that routed_traffic() would list, as a bound: what it costs before it is asked.
double flow_count(const Parallelism& parallelism, const TrafficSpec& traffic);

struct RoutedTrafficInput {
  const fabric::Topology& topology;
  const fabric::PathWalker& walker;
  const GpuPorts& ports;
  const FabricBundles& bundles;
  std::span<const double> bundle_mbps;  // for the floors
};

// Links between sites are no cables. They follow the directed links: the number of a bundle of FabricBundles::Kind::wan
// among routed loads, and the capacities of all these links.
std::uint32_t routed_wan_link(const fabric::Topology& topology, const FabricBundles& bundles, std::uint32_t bundle);
std::vector<double> routed_capacities_mbps(const fabric::FabricView& view, const FabricBundles& bundles,
                                           std::span<const double> bundle_mbps);

struct PortFlow {
  fabric::EndPortPair ports;
  double bytes = 0;  // of a step, at what the generation reaches of nominal rates
};
// In the mean over a step that takes so long.
std::uint64_t mean_kbps(const PortFlow& flow, double period_us);
// What routed_traffic() puts on links, before it does: the flows between adapters' ports that have a route, without those between
// sites.
std::vector<PortFlow> port_flows(const RoutedTrafficInput& in, std::span<const fabric::GpuId> gpu_of_rank,
                                 const Parallelism& parallelism, const TrafficSpec& traffic,
                                 const GpuGeneration& generation, const LinkTraffic& bundled);

// GPUs with several adapter ports send over all of them, each to the port on its rail; a GPU without a route to another
// sends through a neighbour of the job in its NVLink domain that has one (NCCL's PXN). Where some flow has no route,
// its group's floor is infinite. bundled: the loads of the same placement on bundles, as PlacementCostModel gives them.
LinkTraffic routed_traffic(const RoutedTrafficInput& in, std::span<const fabric::GpuId> gpu_of_rank,
                           const Parallelism& parallelism, const TrafficSpec& traffic, const GpuGeneration& generation,
                           const LinkTraffic& bundled);

}  // namespace railweave::scheduler
