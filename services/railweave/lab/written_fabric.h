// A fabric as a file: in which format, and where to.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "fabric/topology/topology.h"
#include "services/railweave/terminal/output.h"

namespace railweave::cli {

struct WrittenFabricOptions {
  std::string format = "native";
  std::string path;
};

// `format_option` is "--format" or "--to".
void add_written_fabric_options(CLI::App& command, WrittenFabricOptions& options, const std::string& format_option);

// To the file, and a summary to stdout; or the fabric itself to stdout. Throws CommandFailure.
void write_fabric_file(Output& output, const fabric::Topology& topology, const WrittenFabricOptions& options);

}  // namespace railweave::cli
