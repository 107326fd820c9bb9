// Through which adapter ports a placed job sends, and what its groups send between them.
#pragma once

#include <span>
#include <vector>

#include "fabric/capacity/pattern_load.h"
#include "fabric/routing/plane/routing_scope.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::control {

// Those of all its GPUs, ascending, each once.
std::vector<fabric::PortId> job_ports(const scheduler::PlacementFabric& fabric,
                                      std::span<const fabric::GpuId> gpu_of_rank);

// What its rings, pipelines and all-to-alls put on the network, from port to port, in proportion to their bytes and
// such that no port sends or receives more than `rate` in sum; ports that send as much as they receive reach it. All
// groups at once: that they take turns is not counted on. What stays inside an NVLink domain or a host is left out. By
// ports, each pair once.
std::vector<fabric::PatternFlow> job_pattern(const scheduler::PlacementFabric& fabric,
                                             const fabric::RoutingScope& scope, const scheduler::JobSpec& spec,
                                             std::span<const fabric::GpuId> gpu_of_rank, RateMbps rate);

}  // namespace railweave::control
