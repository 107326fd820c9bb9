// GPUs for the hosts of a fabric whose source does not mention GPUs, such as every InfiniBand dump (options
// --gpus-per-node and --nvlink-domain of the CLI).
#pragma once

#include <cstddef>

#include "fabric/base/error.h"
#include "fabric/base/units.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

struct GpuAttachment {
  unsigned gpus_per_node = 8;
  unsigned nvlink_domain_gpus = 8;          // 0: no NVLink
  RateMbps rate_per_gpu = from_gbps(3600);  // of NVLink, one direction: 18 links of 200 Gb/s (H100, NVLink 4)
};

// Gives every compute host without GPUs its GPUs; hosts of other kinds get none. Domains: smaller than a node (several
// per node, which must divide it), the node, or whole nodes, consecutive in natural name order (node-1 ... node-18). A
// last domain of fewer nodes gets a finding (partialNvlinkDomain). Which adapter is near which GPU is not known from
// this: see apply_affinity. Returns how many hosts got GPUs. Errors: counts out of range or that do not divide, and no
// such host.
Result<std::size_t> attach_gpus(TopologyBuilder& builder, const GpuAttachment& attachment);

}  // namespace railweave::fabric
