// A rank map in the text formats of launchers (mpirun, srun, torchrun) and of NCCL.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "services/control/state/job.h"

namespace railweave::api {

enum class RankFormat : std::uint8_t {
  json,
  hostfile,  // mpirun --hostfile: a node and its slots a line, nodes in order of their first rank
  slurm,     // SLURM_HOSTFILE for srun --distribution=arbitrary: the node of each rank, a line each
  torchrun,  // a node and its command line a line
  mpi,       // mpirun --rankfile (Open MPI)
  nccl,      // a line per rank: rank, node, GPU, then variables of its environment
};
constexpr std::string_view kRankFormats = "json, hostfile, slurm, torchrun, mpi, nccl";
std::optional<RankFormat> rank_format_named(std::string_view name);

// What NCCL is configured with so that a job's packets belong to its traffic class.
struct ClassMarks {
  unsigned service_level = 0;  // of the class, on the state's routes
  unsigned traffic_class = 0;  // the DSCP, shifted
};

// Every format except json; marks are used by nccl, nullopt: best effort. Errors of kind conflict: "ranks.ended" (its
// nodes may be gone), "ranks.nodeName" (a node whose name no such file can hold), "ranks.notByNode" (torchrun counts
// ranks node by node with the same number on each, which does not hold for this job).
Result<std::string> write_rank_text(RankFormat format, const control::Job& job,
                                    const scheduler::PlacementFabric& fabric,
                                    const std::optional<ClassMarks>& marks = std::nullopt);

}  // namespace railweave::api
