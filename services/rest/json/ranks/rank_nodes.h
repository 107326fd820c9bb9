// A rank map node by node, as launchers see it: the ranks of each node, the GPU of each local rank, and the adapters that
// NCCL may use there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/placement/rank_map.h"

namespace railweave::api {

struct RankNode {
  fabric::HostId host;
  std::string_view name;
  std::vector<std::uint64_t> ranks;  // ascending: a launcher numbers a node's local ranks in this order
  std::string gpus;  // "4,5,6,7": what CUDA_VISIBLE_DEVICES is for local rank i to have its GPU as device i
  bool gpus_by_local_rank = true;  // local rank i has GPU i
  // One list for all ranks of the node, as NCCL needs it (NVIDIA/nccl#1478): "mlx5_0:1,mlx5_1:1", in order of rails. Of
  // the job's GPUs there; of all GPUs of the node where it is only assumed which adapter is near which GPU. Empty: it has
  // no adapters, or one of them is known by something else than its RDMA device's name.
  std::string adapters;
  bool adapters_unnamed = false;  // empty for the latter reason
  bool adapters_assumed = false;  // no affinity is known for the node
};

// Nodes in the order of their first ranks.
std::vector<RankNode> rank_nodes(const scheduler::RankMap& map, const scheduler::PlacementFabric& fabric);

// Whether ranks are numbered node by node, as launchers that are only told how many ranks a node has number them.
bool numbered_by_node(const std::vector<RankNode>& nodes);

// Whether Linux calls RDMA devices so: a driver's own name ("mlx5_0", "bnxt_re1", "mlx5_bond_0") or one by rdma-core's
// rules ("ibp65s0", "rocep1s0f0"). Node descriptions also hold texts that are none: "HCA-1", a host's or a port's name.
bool is_rdma_device_name(std::string_view name);

}  // namespace railweave::api
