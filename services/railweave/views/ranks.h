// The rank map of a placed job as a table: RANK NODE GPU NIC RAIL TP PP DP, and CP EP where they are used.
#pragma once

#include <cstdint>
#include <optional>

#include <CLI/CLI.hpp>

#include "services/railweave/terminal/output.h"

namespace railweave::cli {

// On a terminal a long map is cut after this many lines; otherwise it is printed whole, unless --limit is given.
inline constexpr std::uint64_t kRanksOnTerminal = 32;

struct RankOptions {
  std::optional<std::uint64_t> limit;
  bool all = false;
};
void add_rank_options(CLI::App& command, RankOptions& options);  // --all, --limit

// The number of `count` ranks that a command shows. Documents hold all, unless --limit is given.
std::uint64_t ranks_shown(const Output& output, std::uint64_t count, const RankOptions& options);

// `ranks` is the beginning of the list, `count` the number of all ranks, `parallelism` the job's (null: unknown).
void print_ranks(Output& output, const Json& ranks, std::uint64_t count, const Json& parallelism,
                 const RankOptions& options);

// Names the libraries whose packets are not in the job's class or its tenant's partition: {"class": [...], "partition": [...]}.
void note_outside(Output& output, const Json& outside);

}  // namespace railweave::cli
