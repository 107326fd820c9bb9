// The fabric file that an offline command works on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "fabric/topology/topology.h"

namespace railweave::cli {

struct FabricFileOptions {
  std::string path;
  std::string format = "auto";
  std::string subnet = "default";
  std::optional<std::uint64_t> gpus_per_node, nvlink_domain;
};

// `name`: "FILE", or an option where the positional argument is another file.
void add_fabric_file_options(CLI::App& command, FabricFileOptions& options, const std::string& name = "FILE");

struct FabricFile {
  fabric::TopologyPtr topology;
  double read_ms = 0;  // from opening the file to the finished topology
};

// Throws CommandFailure.
FabricFile read_fabric_file(const FabricFileOptions& options);

}  // namespace railweave::cli
