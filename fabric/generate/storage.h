// A storage network beside the compute network: one more adapter per host and one per storage server, on a subnet of
// their own with the fewest tiers that hold them.
#pragma once

#include "fabric/generate/cluster.h"

namespace railweave::fabric {

// Nothing to do where the cluster has no storage servers.
Result<void> add_storage(const ClusterSpec& cluster, const HostBlock& block, TopologyBuilder& builder);

}  // namespace railweave::fabric
