// A swept subnet as a Topology: the same that reading ibnetdiscover's output of it gives, hosts and names included.
#pragma once

#include "fabric/base/error.h"
#include "fabric/drivers/infiniband/subnet_map.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::infiniband {

// options.source: where the subnet was seen from, for messages. Findings as of ibnetdiscover.h, and silentDevice.
Result<Topology> to_topology(const SubnetMap& map, const ReadOptions& options);

}  // namespace railweave::fabric::infiniband
