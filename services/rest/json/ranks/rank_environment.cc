#include "services/rest/json/ranks/rank_environment.h"

#include <fmt/format.h>

#include "services/rest/json/ranks/library_variables.h"

namespace railweave::api {
namespace {

using scheduler::RankMap;

std::string words_of(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) text += " " + name + "=" + value;
  return text;
}

// The same for all ranks; each after a blank.
std::string common_variables(const control::Job& job, const RankMarks& marks) {
  std::string text = words_of(class_variables(marks));
  // Rings that can stay on their rails shall; otherwise NCCL decides by itself.
  if (job.placement.data_rings_on_rails) text += " NCCL_CROSS_NIC=0";
  return text;
}

// "=" asks for exactly these; a node without known adapters leaves the choice to NCCL.
std::string adapter_variable(const RankNode& node) {
  return node.adapters.empty() ? std::string() : " NCCL_IB_HCA==" + node.adapters;
}

std::string host_variables(const RankNode& node, const RankMarks& marks) {
  return adapter_variable(node) + words_of(partition_variables(marks, node.host));
}

}  // namespace

std::string rank_environment_lines(const RankMap& map, const std::vector<RankNode>& nodes, const control::Job& job,
                                   const RankMarks& marks) {
  const std::string common = common_variables(job, marks);
  std::vector<std::uint32_t> node_of(map.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    for (const std::uint64_t rank : nodes[n].ranks) node_of[rank] = n;
  }
  std::string text;
  for (std::uint64_t r = 0; r < map.size(); ++r) {
    const RankNode& node = nodes[node_of[r]];
    text += fmt::format("{} {} {}{}{}\n", r, node.name, map[r].local_gpu, host_variables(node, marks), common);
  }
  return text;
}

std::string rank_script(const std::vector<RankNode>& nodes, const control::Job& job, const RankMarks& marks) {
  std::string text =
      "if [ -n \"${TORCHELASTIC_RUN_ID:-}\" ]; then rank=${RANK:-}; else\n"
      "  rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-${RANK:-}}}}}\n"
      "fi\n"
      "case \"$rank\" in\n";
  for (const RankNode& node : nodes) {
    const std::string ranks = fmt::format("{}", fmt::join(node.ranks, "|"));
    text += fmt::format("{}) export RAILWEAVE_NODE={} CUDA_VISIBLE_DEVICES={}{} ;;\n", ranks, node.name, node.gpus,
                        host_variables(node, marks));
  }
  text += fmt::format(
      "*)\n"
      "  echo \"no rank of {}: '$rank'; run this under mpirun, srun or torchrun, as: srun sh FILE PROGRAM ARGUMENTS\" "
      ">&2\n"
      "  exit 1 ;;\n"
      "esac\n",
      control::to_string(job.id));
  // GPUs are numbered as the driver does, by their PCI addresses.
  text += "export CUDA_DEVICE_ORDER=PCI_BUS_ID" + common_variables(job, marks) + "\n" + "exec \"$@\"\n";
  return text;
}

}  // namespace railweave::api
