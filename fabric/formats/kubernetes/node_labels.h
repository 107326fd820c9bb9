// Reads `kubectl get nodes -o json` as facts of hosts: how many GPUs a node has (capacity nvidia.com/gpu or amd.com/gpu),
// which (nvidia.com/gpu.product), and which groups its labels put it in, the nearest first, by the first family that it has:
//
//   Topograph 1.x     fabric.topograph.run/tier-0, -1, ...       accelerator.topograph.run/domain: NVLink
//   Topograph before  network.topology.nvidia.com/leaf, spine, core;  .../accelerator
//   AWS               topology.k8s.aws/network-node-layer-3, -2, -1
//   Google Cloud      cloud.google.com/gce-topology-subblock, -block; topology.gke.io/ also
//   OCI               oci.oraclecloud.com/rdma.local_block_id, network_block_id, hpc_island_id
//   Kueue's examples  cloud.provider.com/topology-rack, -block
//   Kubernetes        topology.kubernetes.io/rack; beyond all of these the zone (topology.kubernetes.io/zone)
//
// Labels nvidia.com/gpu.clique are for read_nvlink_cliques(), which takes the same text.
// Left out with their row: nodes without a name. Errors: no JSON, no node.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/site/site_facts.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

Result<void> read_kubernetes_nodes(std::string_view text, const ReadOptions& options, SiteFacts& facts);

}  // namespace railweave::fabric
