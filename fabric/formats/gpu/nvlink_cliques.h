// Which machines share an NVLink domain, from what the driver reports of each machine: the fabric's clusterUuid and
// cliqueId (nvidia-smi -q, NVML's GPU fabric info; on Kubernetes the label nvidia.com/gpu.clique =
// "clusterUuid.cliqueId"). Two forms are read. JSON, with the nodes' names, labels and instance types; other fields are
// stepped over, so that `kubectl get nodes -o json` can be given as it is:
//   {"nodes": [{"name": "n1", "instance": "BM.GPU.GB200.4",
//               "labels": {"nvidia.com/gpu.clique": "61248eac-....20663"}}]}
//   {"nodes": [{"name": "n1", "clusterUuid": "61248eac-...", "cliqueId": 20663}]}
// A table, comma-separated or with blanks, with or without a line of titles, which may come in any order:
//   node  clusterUuid                           cliqueId  platform
//   n1    61248eac-4785-4fbf-9cbd-231635e37e9d  20663     GB200
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/base/units.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

struct NvlinkCliqueOptions {
  ReadOptions read;
  std::string platform;                     // of nodes whose row names none: "GB200"; empty: not known
  RateMbps rate_per_gpu = from_gbps(7200);  // of NVLink, one direction: 18 links of 400 Gb/s (GB200, NVLink 5)
};

// Does NVLink join several machines of this product or instance type? GB200, GB300, VR200 and names with NVL16 and up
// (NVL72, NVL576), also where cloud providers name them otherwise (a4x). Not HGX and DGX machines, not NVL2 to NVL8,
// and not "H100 NVL", whose NVLink ends at the machine.
bool has_multi_node_nvlink(std::string_view platform);

// Puts the GPUs of nodes with one clusterUuid into one NVLink domain, called by it, and notes their clique. For hosts
// that the builder has, with their GPUs: read the fabric first. Nodes are found by name, or by the name before its
// first dot. Identical rows count once. Where NVLink does not join machines (by platform, or by an all-zero
// clusterUuid), and where the platform is not known, each node keeps or gets a domain of its own. Findings:
// cliqueNotAvailable (N/A: refused), cliqueContradiction (a node with two cliques gets neither), cliqueSingleNode,
// cliquePlatformUnknown, nodeNotInFabric, nodeWithoutGpus, unreadableLine. Errors: JSON that cannot be read, no usable
// row.
Result<void> read_nvlink_cliques(std::string_view text, const NvlinkCliqueOptions& options, TopologyBuilder& builder);

}  // namespace railweave::fabric
