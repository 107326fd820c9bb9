// The links that fail in an offline command: named by the user, or drawn at random.
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

// Ordered by id, without duplicates. A switch stands for all its links. The same seed always draws the same links of a
// fabric. Throws CommandFailure.
std::vector<fabric::LinkId> choose_failures(const fabric::Topology& topology, const FailureOptions& options);

}  // namespace railweave::cli
