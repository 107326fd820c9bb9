#include "services/railweave/lab/fabric_file.h"

#include <chrono>
#include <utility>
#include <vector>

#include "fabric/formats/gpu/attach_gpus.h"
#include "fabric/formats/read_fabric.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/site/site_files.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {
namespace {

fabric::Format format_named(const std::string& name) {
  if (name == "auto") return fabric::Format::unknown;
  if (const auto format = fabric::parse_format(name)) return *format;
  std::string names = "auto";
  for (const auto format : fabric::all_formats()) names += ", " + std::string(fabric::to_string(format));
  fail_usage("there is no format '" + name + "'", "the formats are " + names);
}

// What only the command line reads: dumps of other tools, and groups of hosts alone.
bool is_merged(fabric::SourceKind kind) {
  using fabric::SourceKind;
  const bool of_service = kind == SourceKind::ibnetdiscover || kind == SourceKind::ibsim || kind == SourceKind::native;
  const bool of_machines = kind == SourceKind::nvidia_smi_query || kind == SourceKind::nvidia_smi_topo ||
                           kind == SourceKind::nccl_topology || kind == SourceKind::nvlink_cliques ||
                           kind == SourceKind::nmx_gpus || kind == SourceKind::nvidia_smi_nvlink;
  return fabric::tells_of_fabric(kind) && !of_service && !of_machines;
}

fabric::TopologyPtr read_merged(const FabricFileOptions& options, std::string text, fabric::Recognised recognised) {
  fabric::SiteImportOptions import;
  import.subnet = options.subnet;
  import.gpus_per_node = static_cast<unsigned>(options.gpus_per_node.value_or(0));
  import.nvlink_domain = static_cast<unsigned>(options.nvlink_domain.value_or(0));
  std::vector<SiteFile> files(1);
  files.front() = {.path = options.path,
                   .name = source_name(options.path),
                   .text = std::move(text),
                   .read_at = {},
                   .recognised = std::move(recognised)};
  return fabric_of(files, import);
}

}  // namespace

void add_fabric_file_options(CLI::App& command, FabricFileOptions& options, const std::string& name) {
  command.add_option(name, options.path, name == "FILE" ? "File to read, - for stdin" : "Fabric file, - for stdin")
      ->type_name("FILE")
      ->required();
  command.add_option("--format", options.format, "Format of the file; auto detects it")
      ->type_name("auto|ibnetdiscover|ibsim|native")
      ->capture_default_str();
  command.add_option("--subnet", options.subnet, "Name of the subnet that a dump describes")
      ->type_name("NAME")
      ->capture_default_str();
  add_number_option(command, "--gpus-per-node", options.gpus_per_node,
                    "GPUs to add to every compute host, for dumps that list none", {1, 64});
  add_number_option(command, "--nvlink-domain", options.nvlink_domain,
                    "GPUs per NVLink domain, 0 for none; default: --gpus-per-node", {0, 100'000});
}

FabricFile read_fabric_file(const FabricFileOptions& options) {
  using Clock = std::chrono::steady_clock;
  if (options.nvlink_domain && !options.gpus_per_node) {
    fail_usage("--nvlink-domain needs --gpus-per-node", "it joins the GPUs that --gpus-per-node adds");
  }
  const fabric::Format format = format_named(options.format);
  const auto started = Clock::now();
  std::string text = value_or_fail(read_fabric_text(options.path, kMaxFabricFileBytes));
  if (auto recognised = fabric::recognise(text); format == fabric::Format::unknown && is_merged(recognised.kind)) {
    FabricFile file{.topology = read_merged(options, std::move(text), std::move(recognised))};
    file.read_ms = std::chrono::duration<double, std::milli>(Clock::now() - started).count();
    return file;
  }
  fabric::ReadOptions read;
  read.source = source_name(options.path);
  read.subnet = options.subnet;
  fabric::TopologyBuilder builder;
  value_or_fail(fabric::read_into(text, format, read, builder));
  if (options.gpus_per_node) {
    fabric::GpuAttachment attachment;
    attachment.gpus_per_node = static_cast<unsigned>(*options.gpus_per_node);
    attachment.nvlink_domain_gpus = static_cast<unsigned>(options.nvlink_domain.value_or(*options.gpus_per_node));
    value_or_fail(fabric::attach_gpus(builder, attachment));
  }
  FabricFile file;
  file.topology = std::make_shared<const fabric::Topology>(value_or_fail(std::move(builder).build()));
  file.read_ms = std::chrono::duration<double, std::milli>(Clock::now() - started).count();
  return file;
}

}  // namespace railweave::cli
