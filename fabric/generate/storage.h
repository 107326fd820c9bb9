// A storage network in addition to the compute network: one more adapter per host and one per storage server, on their
// own subnet, with the fewest tiers that can hold them.
#pragma once

#include "fabric/generate/cluster.h"

namespace railweave::fabric {

// Does nothing if the cluster has no storage servers.
Result<void> add_storage(const ClusterSpec& cluster, const HostBlock& block, TopologyBuilder& builder);

}  // namespace railweave::fabric
