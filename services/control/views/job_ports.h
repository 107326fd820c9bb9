// The adapter ports through which a placed job sends, and the traffic between them. Pure functions.
#pragma once

#include <span>
#include <vector>

#include "fabric/capacity/pattern_load.h"
#include "fabric/routing/plane/routing_scope.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::control {

// The ports of all the job's GPUs, ascending, each once.
std::vector<fabric::PortId> job_ports(const scheduler::PlacementFabric& fabric,
                                      std::span<const fabric::GpuId> gpu_of_rank);

// Some of its ranks are on sites that are joined by links over long distances.
bool spans_sites(const scheduler::PlacementFabric& fabric, std::span<const fabric::GpuId> gpu_of_rank);

// The flows from port to port that the job's rings, pipelines and all-to-alls put on the network: in proportion to
// their bytes and scaled so that no port sends or receives more than `rate` in sum, each flow then rounded up to
// whole Mb/s; a port reaches `rate` if it sends as much as it receives. All groups are assumed to send at once. Traffic inside an NVLink domain or a host does not
// count, nor does what crosses the links between sites. Ordered by ports, each pair once.
std::vector<fabric::PatternFlow> job_pattern(const scheduler::PlacementFabric& fabric,
                                             const fabric::RoutingScope& scope, const scheduler::JobSpec& spec,
                                             std::span<const fabric::GpuId> gpu_of_rank, RateMbps rate);

}  // namespace railweave::control
