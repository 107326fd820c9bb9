// Do the rings of data-parallel groups stay on one rail each?
#pragma once

#include <span>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

// For every data-parallel group (ranks that differ in dp alone) that spans nodes: is there a rail on which each of its
// nodes has a member? Then the ring crosses nodes on that rail alone. False where the fabric has no rails. O(ranks),
// more where members of a group sit on several rails.
bool data_rings_on_rails(const PlacementFabric& fabric, const Parallelism& parallelism,
                         std::span<const fabric::GpuId> gpu_of_rank);

}  // namespace railweave::scheduler
