// A rank map in the text formats of launchers (mpirun, srun, torchrun) and of NCCL.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "services/control/state/job.h"
#include "services/rest/json/ranks/class_marks.h"

namespace railweave::api {

enum class RankFormat : std::uint8_t {
  json,
  hostfile,  // mpirun --hostfile: a node and its slots a line; ranks are numbered node by node
  slurm,     // SLURM_HOSTFILE for srun --distribution=arbitrary: the node of each rank, a line each
  torchrun,  // a node and its command line a line
  mpi,       // mpirun --rankfile (Open MPI), which binds no rank to fewer than its node's processors
  nccl,      // a line per rank: rank, node, GPU, then variables of its environment
  script,    // what a launcher runs the program under: sets each rank's GPUs, adapters and class
};
constexpr std::string_view kRankFormats = "json, hostfile, slurm, torchrun, mpi, nccl, script";
std::optional<RankFormat> rank_format_named(std::string_view name);

// Every format except json. Marks are used by nccl and script. Lines that start with # mark what is
// only assumed; the launchers skip them. Errors of kind conflict: "ranks.ended" (its nodes may be gone), "ranks.nodeName"
// (a node whose name no such file can hold), "ranks.notByNode" (hostfile and torchrun number ranks node by node, which
// does not hold for this job), "ranks.gpuNotLocalRank" (hostfile, slurm and mpi hold no GPUs: a rank finds its own only
// where its number is that of the local rank, or under the script, which with_script says it runs under).
Result<std::string> write_rank_text(RankFormat format, const control::Job& job,
                                    const scheduler::PlacementFabric& fabric, const RankMarks& marks = {},
                                    bool with_script = false);

}  // namespace railweave::api
