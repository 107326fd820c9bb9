// railweave fabric import: makes one fabric of what a site has, and uploads it or writes it to a file. Files that the
// service reads by itself are uploaded as they are.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/file_output.h"
#include "services/railweave/connection/operation_wait.h"
#include "services/railweave/site/merged_fabric.h"
#include "services/railweave/site/site_commands.h"
#include "services/railweave/site/site_files.h"
#include "services/railweave/site/site_options.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/input_file.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/views/fabric.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kMaxSourceBytes = 200;

struct ImportOptions {
  std::vector<std::string> files;
  std::string format = "auto";
  SiteOptions site;
  std::string path;  // empty: to the service
  bool merge = false;
  bool force = false;
  bool repair = false;
};

std::string megabytes(std::uint64_t bytes) {
  const std::uint64_t tenths = (bytes * 10 + 500'000) / 1'000'000;
  return fmt::format("{}.{} MB", tenths / 10, tenths % 10);
}

// Several files are one request, so that all of them or none are imported.
Json import_body(Session& session, const ImportOptions& options, const std::string& source, const std::string& format,
                 std::string body) {
  Target target("/v1/fabric/topology");
  target.query("format", format).query("source", source.substr(0, kMaxSourceBytes));
  target.filter("subnet", options.site.subnet);
  if (format != "native" || options.format != "auto") {  // else they are in it already
    target.filter("hosts", options.site.hosts);
    if (options.site.gpus_per_node) target.query("gpusPerNode", std::to_string(*options.site.gpus_per_node));
    if (options.site.nvlink_domain) target.query("nvlinkDomain", std::to_string(*options.site.nvlink_domain));
  }
  if (options.merge) target.query("merge", "true");
  if (options.force) target.query("force", "true");
  if (options.repair) target.query("repair", "true");
  session.output.say_progress("uploading " + source + ", " + megabytes(body.size()));
  api::ClientRequest request;
  request.method = api::Method::put;
  request.target = target.text();
  request.headers.add("Prefer", "respond-async");
  request.content_type = "application/octet-stream";
  request.body = std::move(body);
  Answer answer = session.service().send(std::move(request));
  if (answer.status != 202) return std::move(answer.body);  // imported at once
  return wait_for_operation(session, operation_location(session, answer), [&](const Json& progress) {
    const auto total = count_of(progress, "total");
    std::string said = "importing " + source;
    if (text_of(progress, "unit") == "bytes" && total > 0) {
      said += ", " + megabytes(count_of(progress, "done")) + " of " + megabytes(total);
    }
    return said;
  });
}

// Whether the service reads such files by itself.
bool is_for_service(fabric::SourceKind kind) {
  using fabric::SourceKind;
  return kind == SourceKind::unknown || kind == SourceKind::ibnetdiscover || kind == SourceKind::ibsim ||
         kind == SourceKind::native || kind == SourceKind::nvidia_smi_topo || kind == SourceKind::nccl_topology ||
         kind == SourceKind::nvlink_cliques;
}

bool is_dump(fabric::SourceKind kind) {
  using fabric::SourceKind;
  return kind == SourceKind::ibnetdiscover || kind == SourceKind::ibsim || kind == SourceKind::native;
}

std::string joined_sources(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

Json upload_files(Session& session, const ImportOptions& options, std::vector<SiteFile> site) {
  std::vector<std::string> names;
  Json files = Json::array();
  for (SiteFile& file : site) names.push_back(file.name);
  if (site.size() == 1) {
    return import_body(session, options, names.front(), options.format, std::move(site.front().text));
  }
  for (SiteFile& file : site) {
    files.push_back({{"name", file.name}, {"format", options.format}, {"text", std::move(file.text)}});
  }
  return import_body(session, options, joined_sources(names), "files",
                     Json{{"files", std::move(files)}}.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print_fabric(Session& session, const Json& fabric) {
  if (session.output.is_document()) return session.output.document(fabric);
  print_fabric_summary(session.output, fabric);
  if (const Json& findings = list(fabric, "findings"); !findings.empty()) {
    session.output.text("\n");
    print_findings(session.output, findings);
  }
}

// Tables, jobs and environments are read by the report alone.
void refuse_or_name_unused(const std::vector<SiteFile>& files, Output& output) {
  refuse_unknown(files, output);
  std::vector<std::string> unused;
  for (const SiteFile& file : files) {
    const fabric::SourceKind kind = file.recognised.kind;
    if (kind == fabric::SourceKind::unknown || fabric::tells_of_fabric(kind)) continue;
    unused.push_back(fmt::format("{} ({})", file.name, fabric::description(kind)));
  }
  if (unused.empty()) return;
  output.note("railweave: note: not used, as it tells of no cable, host or group (railweave assess reads it): " +
              joined_sources(unused));
}

// Nothing is asked of a service, and nothing written but the file.
void write_merged(Session& session, const ImportOptions& options, const std::vector<SiteFile>& files) {
  refuse_or_name_unused(files, session.output);
  const MergedFabric merged = merge_files(files, import_options(options.site));
  write_file_or_stdout(session.output, options.path, merged.native);
  if (options.path != "-") print_fabric(session, merged.report);
}

void import_files(Session& session, const ImportOptions& options) {
  std::vector<SiteFile> files = read_site_files(options.files, fetch_access(options.site, session.options));
  if (!options.path.empty()) return write_merged(session, options, files);
  const bool named = options.format != "auto";
  // Several dumps are compared with each other, and those of other subnets told apart, before they are uploaded.
  const bool as_they_are =
      std::ranges::all_of(files,
                          [](const auto& file) { return is_for_service(file.recognised.kind) && !file.from_folder; }) &&
      std::ranges::count_if(files, [](const auto& file) { return is_dump(file.recognised.kind); }) < 2;
  if (named || as_they_are) {
    return print_fabric(session, upload_files(session, options, std::move(files)));
  }
  refuse_or_name_unused(files, session.output);
  std::vector<std::string> names;
  for (const SiteFile& file : files) {
    if (fabric::tells_of_fabric(file.recognised.kind)) names.push_back(file.name);
  }
  MergedFabric merged = merge_files(files, import_options(options.site));
  print_fabric(session, import_body(session, options, joined_sources(names), "native", std::move(merged.native)));
}

}  // namespace

void add_fabric_import_command(CLI::App& fabric, Session& session) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App& command = add_command(
      fabric, "import", "Replace the fabric by that of files, or add to it; or write what files tell to a file",
      {"railweave fabric import dump.ibnetdiscover", "ibnetdiscover | railweave fabric import -",
       "railweave fabric import compute.txt --gpus-per-node 8 --nvlink-domain 8",
       "railweave fabric import dump.txt topo.xml cliques.txt --gpus-per-node 8 --hosts 'dgx-*'",
       "railweave fabric import ibdiagnet2.db_csv nodes.json topology.conf -o fabric.json",
       "railweave fabric import lldp/ config_db/ nodes.json -o fabric.json",
       "railweave fabric import https://ufm/ufmRestV3/resources/ports --source-token-file token -o fabric.json",
       "railweave fabric import storage.txt --merge --subnet storage"});
  command
      .add_option("FILE", options->files,
                  "Files of the fabric and of its machines, folders of them, or URLs; - for stdin. All of them or none "
                  "are imported. Read are dumps of cables, and what UFM, Slurm, Kubernetes, LLDP, OpenConfig, SONiC, "
                  "nvidia-smi and NMX-C tell")
      ->type_name("FILE")
      ->required();
  command.add_option("--format", options->format, "Format of the files; auto detects it")
      ->type_name("auto|ibnetdiscover|ibsim|native|nvlinkCliques|ncclTopology|nvidiaSmiTopo")
      ->capture_default_str();
  add_site_options(command, options->site);
  command
      .add_option("-O,--output-file", options->path,
                  "Write the fabric of all files to this file, without a service; also -o FILE")
      ->type_name("FILE");
  take_file_as_output(command, options->path);
  command.add_flag("--merge", options->merge, "Add to the present fabric instead of replacing it");
  command.add_flag("--repair", options->repair,
                   "Move the ranks of running jobs that lose nodes, or whose requirements no longer hold");
  command.add_flag("--force", options->force, "Import even if running jobs lose their nodes: these jobs end as lost");
  on_run(command, session, [&session, options] { import_files(session, *options); });
}

}  // namespace railweave::cli
