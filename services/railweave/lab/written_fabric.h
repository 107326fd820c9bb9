// Options for writing a fabric to a file: its format and path.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "fabric/topology/topology.h"
#include "services/railweave/terminal/output.h"

namespace railweave::cli {

struct WrittenFabricOptions {
  std::string format = "native";
  std::string plugin = "tree";  // of Slurm's files
  std::string path;
};

// `format_option` is "--format" or "--to".
void add_written_fabric_options(CLI::App& command, WrittenFabricOptions& options, const std::string& format_option);

// Writes the fabric to the file and a summary to stdout, or without a file the fabric to stdout. Throws CommandFailure.
void write_fabric_file(Output& output, const fabric::Topology& topology, const WrittenFabricOptions& options);

}  // namespace railweave::cli
