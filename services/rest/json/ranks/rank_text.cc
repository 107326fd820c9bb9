#include "services/rest/json/ranks/rank_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "scheduler/placement/rank_map.h"
#include "services/rest/json/ranks/library_variables.h"
#include "services/rest/json/ranks/rank_environment.h"
#include "services/rest/json/ranks/rank_nodes.h"

namespace railweave::api {
namespace {

using scheduler::PlacementFabric;
using scheduler::RankMap;

constexpr unsigned kRendezvousPort = 29500;

bool is_host_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  });
}

// A line that launchers skip, about those nodes; a few are named.
void add_remark(std::string& text, const std::vector<RankNode>& nodes, bool RankNode::* concerned,
                std::string_view remark) {
  constexpr std::size_t kExamples = 3;
  std::size_t count = 0;
  std::string examples;
  for (const RankNode& node : nodes) {
    if (!(node.*concerned) || ++count > kExamples) continue;
    examples += (examples.empty() ? "" : ", ") + std::string(node.name);
  }
  if (count == 0) return;
  text += fmt::format("# {}{}{}{}{}\n", count, count == 1 ? " node (" : " nodes (", examples,
                      count > kExamples ? ", ...): " : "): ", remark);
}

std::string names_text(const std::vector<std::string_view>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

// Which libraries' packets are not the job's for the network.
std::string outside_remarks(const std::vector<RankNode>& nodes, const RankMarks& marks) {
  std::string text;
  if (marks.are_levels_several()) {
    text +=
        "# paths between its ports have service levels " + levels_text(marks) +
        " (railweave routes path), and each library sends all packets of a rank with one: on a level that is not its "
        "path's a packet may be part of a deadlock\n";
  }
  if (const auto names = outside_class(marks); !names.empty()) {
    text += "# outside the job's class, as they read no variable for it: " + names_text(names) + "\n";
  }
  for (const RankNode& node : nodes) {
    const auto names = outside_partition(marks, node.host);
    if (names.empty()) continue;
    return text + "# outside the tenant's partition, as they read no variable for it: " + names_text(names) + "\n";
  }
  return text;
}

std::string remarks(RankFormat format, const std::vector<RankNode>& nodes, const RankMarks& marks) {
  std::string text;
  add_remark(text, nodes, &RankNode::adapters_assumed,
             "which adapter is near which GPU is not known, so it is assumed");
  if (format != RankFormat::nccl && format != RankFormat::script) return text;
  add_remark(text, nodes, &RankNode::adapters_unnamed,
             "NCCL_IB_HCA is left out, as the names of RDMA devices are not known, only node descriptions");
  return text + outside_remarks(nodes, marks);
}

std::string hostfile(const std::vector<RankNode>& nodes) {
  std::string text;
  for (const RankNode& node : nodes) {
    text += fmt::format("{} slots={}\n", node.name, node.ranks.size());
  }
  return text;
}

std::string slurm(const RankMap& map, const fabric::Topology& topology) {
  std::string text;
  for (std::uint64_t r = 0; r < map.size(); ++r) text += std::string(topology.name(map[r].host)) + "\n";
  return text;
}

// "S*" is all processors of the node; a number would bind the rank to that one core.
std::string rankfile(const RankMap& map, const fabric::Topology& topology) {
  std::string text;
  for (std::uint64_t r = 0; r < map.size(); ++r) {
    text += fmt::format("rank {}={} slot=S*\n", r, topology.name(map[r].host));
  }
  return text;
}

// Options with underscores: torchrun before 2.0 knows no others.
std::string torchrun(const std::vector<RankNode>& nodes, const std::string& id) {
  std::string text;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    text += fmt::format(
        "{}: CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={} torchrun --nnodes={} --nproc_per_node={} "
        "--node_rank={} --rdzv_backend=static --rdzv_id={} --rdzv_endpoint={}:{}\n",
        nodes[n].name, nodes[n].gpus, nodes.size(), nodes[n].ranks.size(), n, id, nodes.front().name, kRendezvousPort);
  }
  return text;
}

Result<void> check_numbering(RankFormat format, const std::vector<RankNode>& nodes, bool with_script) {
  if ((format == RankFormat::hostfile || format == RankFormat::torchrun) && !numbered_by_node(nodes)) {
    return fail(ErrorKind::conflict, "ranks.notByNode",
                "ranks are numbered node by node there, and this job's are placed otherwise",
                std::string(nodes.front().name), "use mpi or slurm");
  }
  const bool holds_gpus =
      format == RankFormat::torchrun || format == RankFormat::nccl || format == RankFormat::script || with_script;
  if (holds_gpus) return {};
  const auto other = std::ranges::find(nodes, false, &RankNode::gpus_by_local_rank);
  if (other == nodes.end()) return {};
  return fail(ErrorKind::conflict, "ranks.gpuNotLocalRank",
              "the launcher would start local rank 0 on GPU 0 and so on, but the job's ranks have GPUs " + other->gpus +
                  " there",
              std::string(other->name),
              "run the program under the script (railweave jobs ranks --format script), which sets "
              "CUDA_VISIBLE_DEVICES, and say so here with --with-script (REST: withScript=true)");
}

}  // namespace

std::optional<RankFormat> rank_format_named(std::string_view name) {
  for (const auto& [known, format] : {std::pair("json", RankFormat::json), std::pair("hostfile", RankFormat::hostfile),
                                      std::pair("slurm", RankFormat::slurm),
                                      std::pair("torchrun", RankFormat::torchrun), std::pair("mpi", RankFormat::mpi),
                                      std::pair("nccl", RankFormat::nccl), std::pair("script", RankFormat::script)}) {
    if (name == known) return format;
  }
  return std::nullopt;
}

Result<std::string> write_rank_text(RankFormat format, const control::Job& job, const PlacementFabric& fabric,
                                    const RankMarks& marks, bool with_script) {
  const RankMap map(fabric, job.spec.parallelism, job.placement.gpu_of_rank);
  const auto& topology = fabric.topology();
  if (map.size() == 0) {
    return fail(
        ErrorKind::conflict, "ranks.ended",
        fmt::format("{} ended before the topology was changed; its nodes may be gone", control::to_string(job.id)));
  }
  for (const auto& node : job.nodes) {
    if (is_host_name(node)) continue;
    return fail(ErrorKind::conflict, "ranks.nodeName", "a node's name is not a host name, so launchers cannot reach it",
                node, "use format=json");
  }
  const auto nodes = rank_nodes(map, fabric);
  if (auto numbered = check_numbering(format, nodes, with_script); !numbered) return std::unexpected(numbered.error());
  const std::string remarked = remarks(format, nodes, marks);
  switch (format) {
    case RankFormat::hostfile:
      return remarked + hostfile(nodes);
    case RankFormat::slurm:
      return remarked + slurm(map, topology);
    case RankFormat::torchrun:
      return remarked + torchrun(nodes, control::to_string(job.id));
    case RankFormat::mpi:
      return remarked + rankfile(map, topology);
    case RankFormat::nccl:
      return remarked + rank_environment_lines(map, nodes, job, marks);
    case RankFormat::script:
      return "#!/bin/sh\n" + remarked + rank_script(nodes, job, marks);
    case RankFormat::json:
      break;
  }
  return fail(ErrorKind::internal, "ranks.format", "json is no text format");
}

}  // namespace railweave::api
