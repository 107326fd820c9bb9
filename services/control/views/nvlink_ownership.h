// The NVLink partitions of placed jobs: which GPUs of each NVLink domain a job owns. Derived from the state. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "scheduler/admission/nvlink_partitions.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// Partitions of the placed jobs of one tenant; "": of all tenants.
scheduler::NvlinkPartitions nvlink_ownership(const ClusterState& state, const std::string& tenant);

// The partitions of one job, one per domain. A partition's number is the position of its first GPU in the domain, from
// 1: unique while the job runs, and independent of other jobs.
std::vector<scheduler::NvlinkPartition> nvlink_partitions_of(const ClusterState& state, const Job& job);

}  // namespace railweave::control
