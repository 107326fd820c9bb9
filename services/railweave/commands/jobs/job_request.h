// Turns the options of `place`, `jobs submit`, `reservations set` and `lab place` into the JSON body of POST /v1/jobs and
// POST /v1/placements/query. Values are not checked here: whoever reads the body does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// Where the job may be placed.
struct PlacementOptions {
  std::vector<std::string> require, prefer;            // "tensor=nvlinkDomain"
  std::vector<std::string> only, exclude;              // nodes
  std::vector<std::string> select, slices;             // "key=value", "rack=16"
  std::vector<std::string> prefer_nodes, avoid_nodes;  // "key=value:20"
  std::vector<std::string> tolerate;                   // "key=value", "key"
  std::string spread, spread_job;                      // a level, "rack=64"
  std::string exclusive;                               // a level
  std::optional<std::uint64_t> spares_per_domain;
  bool across_sites = false;
  bool mixed_gpus = false;
};

struct JobOptions {
  std::string file;  // a body to start from; the other options override its fields
  std::optional<std::uint64_t> tensor, pipeline, data, context, expert, gpus, gpus_per_node;
  bool experts_over_data = false;
  std::vector<std::string> shapes;  // "tp=4,dp=32"
  std::optional<std::uint64_t> data_at_least;
  std::string tenant, name, priority, duration, min_runtime;
  std::vector<std::string> cpu_roles;  // "driver=1", "loader=8:2"
  PlacementOptions placement;
  std::string model, traffic, bandwidth;  // a file, or "parameters=70e9,layers=80,..."
};

// Whether --gpus-per-node is a requirement of the job, or a property of the fabric and the command's own option.
enum class GpusPerNode : unsigned char { of_the_job, of_the_fabric };
void add_job_options(CLI::App& command, JobOptions& options, GpusPerNode meaning = GpusPerNode::of_the_job);

// Whether any option says something of a job.
bool names_job(const JobOptions& options);

// "leaf-group" -> "leafGroup".
std::string level_name(const std::string& text);

// Throws CommandFailure: ExitCode::usage for options that contradict each other, else the error of the file.
Json job_request(const JobOptions& options);

}  // namespace railweave::cli
