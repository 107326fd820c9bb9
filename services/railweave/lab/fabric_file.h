// A fabric read from a file, as the offline commands work on it.
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

// `name`: FILE, or an option where FILE is something else.
void add_fabric_file_options(CLI::App& command, FabricFileOptions& options, const std::string& name = "FILE");

struct FabricFile {
  fabric::TopologyPtr topology;
  double read_ms = 0;  // from opening the file to the finished topology
};

// Throws CommandFailure.
FabricFile read_fabric_file(const FabricFileOptions& options);

}  // namespace railweave::cli
