#include "services/rest/json/rank_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "scheduler/placement/rank_map.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::api {
namespace {

using scheduler::PlacementFabric;
using scheduler::Rank;
using scheduler::RankMap;

constexpr unsigned kRendezvousPort = 29500;

bool is_host_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  });
}

// Ranks of a node in rank order, nodes in order of their first rank.
struct NodeRanks {
  fabric::HostId host;
  std::vector<std::uint64_t> ranks;
};
std::vector<NodeRanks> by_node(const RankMap& map) {
  std::vector<NodeRanks> nodes;
  std::map<fabric::HostId, std::size_t> at;
  for (std::uint64_t r = 0; r < map.size(); ++r) {
    const auto [known, added] = at.try_emplace(map[r].host, nodes.size());
    if (added) nodes.push_back({map[r].host, {}});
    nodes[known->second].ranks.push_back(r);
  }
  return nodes;
}

std::string hostfile(const RankMap& map, const fabric::Topology& topology) {
  std::string text;
  for (const NodeRanks& node : by_node(map)) {
    text += std::string(topology.name(node.host)) + " slots=" + std::to_string(node.ranks.size()) + "\n";
  }
  return text;
}

std::string slurm(const RankMap& map, const fabric::Topology& topology) {
  std::string text;
  for (std::uint64_t r = 0; r < map.size(); ++r) text += std::string(topology.name(map[r].host)) + "\n";
  return text;
}

// Slots number the ranks of a node: Open MPI wants each slot used once.
std::string rankfile(const RankMap& map, const fabric::Topology& topology) {
  std::string text;
  for (std::uint64_t r = 0; r < map.size(); ++r) {
    text += "rank " + std::to_string(r) + "=" + std::string(topology.name(map[r].host)) +
            " slot=" + std::to_string(map[r].local_gpu) + "\n";
  }
  return text;
}

Result<std::string> torchrun(const RankMap& map, const fabric::Topology& topology, const std::string& id) {
  const auto nodes = by_node(map);
  const std::size_t each = nodes.front().ranks.size();
  std::string text;
  std::uint64_t next = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    std::string gpus;
    for (const std::uint64_t rank : nodes[n].ranks) {
      if (rank != next++ || nodes[n].ranks.size() != each) {
        return fail(ErrorKind::conflict, "ranks.notByNode",
                    "torchrun numbers ranks node by node, as many on each; this job's are placed otherwise",
                    std::string(topology.name(nodes[n].host)),
                    "use mpi or slurm, or submit it with gpusPerNode and a tensor parallelism that fills nodes");
      }
      gpus += (gpus.empty() ? "" : ",") + std::to_string(map[rank].local_gpu);
    }
    text += std::string(topology.name(nodes[n].host)) + ": CUDA_VISIBLE_DEVICES=" + gpus +
            " torchrun --nnodes=" + std::to_string(nodes.size()) + " --nproc-per-node=" + std::to_string(each) +
            " --node-rank=" + std::to_string(n) + " --rdzv-backend=static --rdzv-id=" + id +
            " --rdzv-endpoint=" + std::string(topology.name(nodes.front().host)) + ":" +
            std::to_string(kRendezvousPort) + "\n";
  }
  return text;
}

// Adapters as the fabric has them for each GPU; the other variables are NCCL's for this placement.
std::string nccl(const RankMap& map, const PlacementFabric& fabric, const control::Job& job,
                 const std::optional<ClassMarks>& marks) {
  const auto& topology = fabric.topology();
  // Without a class, service level 0: best effort.
  const ClassMarks as = marks.value_or(ClassMarks{});
  std::string common =
      " NCCL_IB_SL=" + std::to_string(as.service_level) + " NCCL_IB_TC=" + std::to_string(as.traffic_class);
  // Rings that can stay on their rails shall; otherwise NCCL decides by itself.
  common += job.placement.data_rings_on_rails ? " NCCL_CROSS_NIC=0" : " NCCL_CROSS_NIC=2";
  common += scheduler::generation_of(fabric).nvls ? " NCCL_ALGO=NVLS,NVLSTree,Ring,Tree" : " NCCL_ALGO=Ring,Tree";
  std::string text;
  for (std::uint64_t r = 0; r < map.size(); ++r) {
    const Rank rank = map[r];
    text += std::to_string(r) + " " + std::string(topology.name(rank.host)) + " " + std::to_string(rank.local_gpu);
    std::string adapters;
    for (const auto& nic : rank.nics) {
      adapters += (adapters.empty() ? "=" : ",") + std::string(topology.device(nic.hca)) + ":" +
                  std::to_string(topology.number(nic.port));
    }
    // "=" asks for exactly these; a GPU without a known adapter leaves the choice to NCCL.
    if (!adapters.empty()) text += " NCCL_IB_HCA=" + adapters;
    text += common + "\n";
  }
  return text;
}

}  // namespace

std::optional<RankFormat> rank_format_named(std::string_view name) {
  for (const auto& [known, format] :
       {std::pair("json", RankFormat::json), std::pair("hostfile", RankFormat::hostfile),
        std::pair("slurm", RankFormat::slurm), std::pair("torchrun", RankFormat::torchrun),
        std::pair("mpi", RankFormat::mpi), std::pair("nccl", RankFormat::nccl)}) {
    if (name == known) return format;
  }
  return std::nullopt;
}

Result<std::string> write_rank_text(RankFormat format, const control::Job& job, const PlacementFabric& fabric,
                                    const std::optional<ClassMarks>& marks) {
  const RankMap map(fabric, job.spec.parallelism, job.placement.gpu_of_rank);
  const auto& topology = fabric.topology();
  if (map.size() == 0) {
    return fail(ErrorKind::conflict, "ranks.ended",
                control::to_string(job.id) + " ended before the topology was changed; its nodes may be gone");
  }
  for (const auto& node : job.nodes) {
    if (is_host_name(node)) continue;
    return fail(ErrorKind::conflict, "ranks.nodeName", "a node's name is not a host name, so launchers cannot reach it",
                node, "use format=json");
  }
  switch (format) {
    case RankFormat::hostfile:
      return hostfile(map, topology);
    case RankFormat::slurm:
      return slurm(map, topology);
    case RankFormat::torchrun:
      return torchrun(map, topology, control::to_string(job.id));
    case RankFormat::mpi:
      return rankfile(map, topology);
    case RankFormat::nccl:
      return nccl(map, fabric, job, marks);
    case RankFormat::json:
      break;
  }
  return fail(ErrorKind::internal, "ranks.format", "json is no text format");
}

}  // namespace railweave::api
