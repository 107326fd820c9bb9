// The summary of a placement: levels, nodes, domains, rails. Computed from the GPU of each rank alone.
#pragma once

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

// Fills in everything but gpu_of_rank, block_gpus and predicted. O(ranks), more where ranks do not follow nodes.
void summarize(const PlacementFabric& fabric, const Parallelism& parallelism, Placement& placement);

}  // namespace railweave::scheduler
