#include "services/railweave/lab/written_fabric.h"

#include "fabric/formats/infiniband/ibsim.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/formats/slurm/slurm_topology.h"
#include "fabric/topology/checks/checks.h"
#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/site/fabric_report.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/views/fabric.h"

namespace railweave::cli {
namespace {

std::string fabric_text(Output& output, const fabric::Topology& topology, const WrittenFabricOptions& options) {
  if (options.format == "native") return fabric::write_native_json(topology);
  if (options.format == "ibsim") return fabric::write_ibsim(topology);
  const auto format = options.format == "topology.yaml" ? fabric::SlurmFormat::yaml : fabric::SlurmFormat::conf;
  const auto plugin = options.plugin == "block" ? fabric::SlurmPlugin::block : fabric::SlurmPlugin::tree;
  fabric::SlurmTopology written = value_or_fail(fabric::write_slurm_topology(topology, format, plugin));
  for (const std::string& note : written.notes) output.note("railweave: note: " + note);
  return std::move(written.text);
}

}  // namespace

void add_written_fabric_options(CLI::App& command, WrittenFabricOptions& options, const std::string& format_option) {
  add_choice_option(command, format_option, options.format,
                    "Format to write; ibsim holds the InfiniBand part only, Slurm's topology files who is near whom",
                    "native|ibsim|topology.conf|topology.yaml");
  add_choice_option(command, "--plugin", options.plugin, "Slurm's plugin that a topology file is for", "tree|block");
  add_output_file_option(command, options.path);
}

void write_fabric_file(Output& output, const fabric::Topology& topology, const WrittenFabricOptions& options) {
  write_file_or_stdout(output, options.path, fabric_text(output, topology, options));
  if (options.path.empty() || options.path == "-") return;
  const Json summary = fabric_report(fabric::summarize(topology));
  if (output.is_document()) return output.document(summary);
  print_fabric_summary(output, summary);
}

}  // namespace railweave::cli
