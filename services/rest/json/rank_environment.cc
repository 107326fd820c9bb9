#include "services/rest/json/rank_environment.h"

#include "scheduler/placement/score/job_traffic.h"

namespace railweave::api {
namespace {

using scheduler::PlacementFabric;
using scheduler::RankMap;

// NCCL's for this placement, the same for all ranks; each after a blank.
std::string common_variables(const PlacementFabric& fabric, const control::Job& job, const RankMarks& marks) {
  // Without a class, service level 0: best effort.
  const ClassMarks as = marks.of_class.value_or(ClassMarks{});
  std::string text =
      " NCCL_IB_SL=" + std::to_string(as.service_level) + " NCCL_IB_TC=" + std::to_string(as.traffic_class);
  // Rings that can stay on their rails shall; otherwise NCCL decides by itself.
  text += job.placement.data_rings_on_rails ? " NCCL_CROSS_NIC=0" : " NCCL_CROSS_NIC=2";
  text += scheduler::generation_of(fabric).nvls ? " NCCL_ALGO=NVLS,NVLSTree,Ring,Tree" : " NCCL_ALGO=Ring,Tree";
  return text;
}

// "=" asks for exactly these; a node without known adapters leaves the choice to NCCL.
std::string adapter_variable(const RankNode& node) {
  return node.adapters.empty() ? std::string() : " NCCL_IB_HCA==" + node.adapters;
}

std::string key_variable(const RankNode& node, const RankMarks& marks) {
  const std::uint16_t index = marks.index_on(node.host);
  return index == 0 ? std::string() : " NCCL_IB_PKEY=" + std::to_string(index);
}

}  // namespace

std::string rank_environment_lines(const RankMap& map, const std::vector<RankNode>& nodes,
                                   const PlacementFabric& fabric, const control::Job& job, const RankMarks& marks) {
  const std::string common = common_variables(fabric, job, marks);
  std::vector<std::uint32_t> node_of(map.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    for (const std::uint64_t rank : nodes[n].ranks) node_of[rank] = n;
  }
  std::string text;
  for (std::uint64_t r = 0; r < map.size(); ++r) {
    const RankNode& node = nodes[node_of[r]];
    text += std::to_string(r) + " " + std::string(node.name) + " " + std::to_string(map[r].local_gpu) +
            adapter_variable(node) + common + key_variable(node, marks) + "\n";
  }
  return text;
}

std::string rank_script(const std::vector<RankNode>& nodes, const PlacementFabric& fabric, const control::Job& job,
                        const RankMarks& marks) {
  std::string text =
      "if [ -n \"${TORCHELASTIC_RUN_ID:-}\" ]; then rank=${RANK:-}; else\n"
      "  rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-${RANK:-}}}}}\n"
      "fi\n"
      "case \"$rank\" in\n";
  for (const RankNode& node : nodes) {
    std::string ranks;
    for (const std::uint64_t rank : node.ranks) ranks += (ranks.empty() ? "" : "|") + std::to_string(rank);
    text += ranks + ") export RAILWEAVE_NODE=" + std::string(node.name) + " CUDA_VISIBLE_DEVICES=" + node.gpus +
            adapter_variable(node) + key_variable(node, marks) + " ;;\n";
  }
  text += "*)\n  echo \"no rank of " + control::to_string(job.id) +
          ": '$rank'; run this under mpirun, srun or torchrun, as: srun sh FILE PROGRAM ARGUMENTS\" >&2\n  exit 1 ;;\n"
          "esac\n";
  // GPUs are numbered as the driver does, by their PCI addresses.
  text += "export CUDA_DEVICE_ORDER=PCI_BUS_ID" + common_variables(fabric, job, marks) + "\n" + "exec \"$@\"\n";
  return text;
}

}  // namespace railweave::api
