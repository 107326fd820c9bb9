// Which job of which tenant owns which GPUs of the NVLink domains: follows from the placed jobs.
#pragma once

#include <string>
#include <vector>

#include "scheduler/admission/nvlink_partitions.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// Of the jobs of one tenant that run, or of all ("").
scheduler::NvlinkPartitions nvlink_ownership(const ClusterState& state, const std::string& tenant);

// Those of one job, one per domain. A partition's number is the place of its first GPU in the domain, from 1: of its
// own as long as the job runs, and the same whoever asks.
std::vector<scheduler::NvlinkPartition> nvlink_partitions_of(const ClusterState& state, const Job& job);

}  // namespace railweave::control
