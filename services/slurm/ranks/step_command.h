// What a `srun` inside of a job's allocation says of its tasks: their number, and whether who wrote it has chosen nodes or an
// order. Read from its command line and environment, because SPANK calls plugins before srun reads its options, and an order
// can be given only there. Options of srun up to 26.05.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "services/slurm/ranks/rank_text.h"

namespace railweave::slurm {

struct StepCommand {
  bool chosen = false;  // nodes, an order or a part of the job: left as it is
  // As Slurm would count; none: that depends on what is not known here.
  std::optional<std::uint64_t> tasks;
};

using Environment = std::function<const char*(const char* name)>;  // null: not set
// nodes: of the allocation.
StepCommand read_step_command(std::span<const std::string_view> arguments, const Environment& environment,
                              std::uint64_t nodes);

// What SLURM_HOSTFILE holds so that tasks follow the ranks: a line for each rank, or for each node where a task per node
// starts the ranks there (torchrun). Empty: the number of tasks is neither.
std::string host_file(const JobRanks& ranks, std::uint64_t tasks);

}  // namespace railweave::slurm
