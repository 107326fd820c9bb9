// Which links of a fabric the user wants to see fail: by name, or drawn at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "fabric/topology/topology.h"

namespace railweave::cli {

struct FailureOptions {
  std::vector<std::string> links;
  std::string random;
  std::uint64_t seed = 1;
};

void add_failure_options(CLI::App& command, FailureOptions& options);

// In order of their ids, each once. A switch stands for all its links. The same seed draws the same links of the same
// fabric, always. Throws CommandFailure.
std::vector<fabric::LinkId> choose_failures(const fabric::Topology& topology, const FailureOptions& options);

}  // namespace railweave::cli
