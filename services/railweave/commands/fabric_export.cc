// railweave fabric export: the accepted topology as it is, or as a file of a scheduler.
#include "fabric/formats/native/native_json.h"
#include "fabric/formats/slurm/slurm_topology.h"
#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

struct ExportOptions {
  std::string to = "native", format, plugin, path;
};

std::string slurm_text(Session& session, const ExportOptions& options, const std::string& document) {
  fabric::TopologyBuilder builder;
  fabric::ReadOptions read;
  read.source = "the accepted topology";
  value_or_fail(fabric::read_native_json(document, read, builder));
  const fabric::Topology topology = value_or_fail(std::move(builder).build());
  const auto format = options.format == "topology.yaml" ? fabric::SlurmFormat::yaml : fabric::SlurmFormat::conf;
  const auto plugin = options.plugin == "block" ? fabric::SlurmPlugin::block : fabric::SlurmPlugin::tree;
  fabric::SlurmTopology written = value_or_fail(fabric::write_slurm_topology(topology, format, plugin));
  for (const std::string& note : written.notes) session.output.note("railweave: note: " + note);
  return std::move(written.text);
}

void export_topology(Session& session, const ExportOptions& options) {
  const bool native = options.to == "native";
  if (native && (!options.format.empty() || !options.plugin.empty())) {
    fail_usage("--format and --plugin are of another scheduler's files", "railweave fabric export slurm has them");
  }
  const std::string document = session.service().get_text(Target("/v1/fabric/topology"));
  write_file_or_stdout(session.output, options.path, native ? document : slurm_text(session, options, document));
}

}  // namespace

void add_fabric_export_command(CLI::App& fabric, Session& session) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App& command =
      add_command(fabric, "export", "Write the accepted topology in the native format, or as Slurm's topology file",
                  {"railweave fabric export -O fabric.json", "railweave fabric export | jq .switches",
                   "railweave fabric export slurm -O /etc/slurm/topology.conf",
                   "railweave fabric export slurm --format topology.yaml --plugin block -O /etc/slurm/topology.yaml"});
  add_choice_option(command, "TO", options->to, "Whose format", "native|slurm");
  add_choice_option(command, "--format", options->format, "Of Slurm: topology.conf, or since 25.05 topology.yaml",
                    "topology.conf|topology.yaml");
  add_choice_option(command, "--plugin", options->plugin,
                    "Of Slurm: tree, or since 23.11 block, whose blocks are NVLink domains or leaf groups",
                    "tree|block");
  add_output_file_option(command, options->path);
  on_run(command, session, [&session, options] { export_topology(session, *options); });
}

}  // namespace railweave::cli
