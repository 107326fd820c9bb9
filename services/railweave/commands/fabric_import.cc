// railweave fabric import: uploads fabric files, one operation each, and waits for their end.
#include <algorithm>
#include <optional>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/connection/operation_wait.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/input_file.h"
#include "services/railweave/views/fabric.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kMaxSourceBytes = 200;

struct ImportOptions {
  std::vector<std::string> files;
  std::string format = "auto";
  std::string subnet;
  std::string hosts;
  std::optional<std::uint64_t> gpus_per_node, nvlink_domain;
  bool merge = false;
  bool force = false;
  bool repair = false;
};

std::string megabytes(std::uint64_t bytes) {
  const std::uint64_t tenths = (bytes * 10 + 500'000) / 1'000'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MB";
}

// Several files are one request, so that all of them or none are imported.
Json import_body(Session& session, const ImportOptions& options, const std::string& source, const std::string& format,
                 std::string body) {
  Target target("/v1/fabric/topology");
  target.query("format", format).query("source", source.substr(0, kMaxSourceBytes));
  target.filter("subnet", options.subnet);
  target.filter("hosts", options.hosts);
  if (options.gpus_per_node) target.query("gpusPerNode", std::to_string(*options.gpus_per_node));
  if (options.nvlink_domain) target.query("nvlinkDomain", std::to_string(*options.nvlink_domain));
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

void import_files(Session& session, const ImportOptions& options) {
  if (std::ranges::count(options.files, "-") > 1) fail_usage("stdin can be read only once");
  std::vector<std::string> texts;
  for (const auto& path : options.files) texts.push_back(value_or_fail(read_fabric_text(path, kMaxFabricFileBytes)));
  Json fabric;
  if (texts.size() == 1) {
    fabric =
        import_body(session, options, source_name(options.files.front()), options.format, std::move(texts.front()));
  } else {
    Json files = Json::array();
    std::string sources;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string name = source_name(options.files[i]);
      sources += (i == 0 ? "" : ", ") + name;
      files.push_back({{"name", name}, {"format", options.format}, {"text", std::move(texts[i])}});
    }
    fabric = import_body(session, options, sources, "files",
                         Json{{"files", std::move(files)}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  if (session.output.is_document()) return session.output.document(fabric);
  print_fabric_summary(session.output, fabric);
  if (const Json& findings = list(fabric, "findings"); !findings.empty()) {
    session.output.text("\n");
    print_findings(session.output, findings);
  }
}

}  // namespace

void add_fabric_import_command(CLI::App& fabric, Session& session) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App& command =
      add_command(fabric, "import", "Replace the fabric by that of files, or add to it",
                  {"railweave fabric import dump.ibnetdiscover", "ibnetdiscover | railweave fabric import -",
                   "railweave fabric import compute.txt --gpus-per-node 8 --nvlink-domain 8",
                   "railweave fabric import dump.txt topo.xml cliques.txt --gpus-per-node 8 --hosts 'dgx-*'",
                   "railweave fabric import storage.txt --merge --subnet storage"});
  command
      .add_option("FILE", options->files,
                  "Files of the fabric, and of its machines (NCCL's XML, nvidia-smi topo -m, NVLink cliques); - for "
                  "stdin. All of them or none are imported")
      ->type_name("FILE")
      ->required();
  command.add_option("--format", options->format, "Format of the files; auto detects it")
      ->type_name("auto|ibnetdiscover|ibsim|native|nvlinkCliques|ncclTopology|nvidiaSmiTopo")
      ->capture_default_str();
  command.add_option("--hosts", options->hosts, "Hosts that the files of machines are about; all that fit by default")
      ->type_name("PATTERN");
  command.add_option("--subnet", options->subnet, "Name of the subnet that a dump describes")->type_name("NAME");
  add_number_option(command, "--gpus-per-node", options->gpus_per_node,
                    "GPUs to add to every compute host, for dumps that list none", {1, 64});
  add_number_option(command, "--nvlink-domain", options->nvlink_domain,
                    "GPUs per NVLink domain; default: --gpus-per-node", {1, 100'000});
  command.add_flag("--merge", options->merge, "Add to the present fabric instead of replacing it");
  command.add_flag("--repair", options->repair,
                   "Move the ranks of running jobs that lose nodes, or whose requirements no longer hold");
  command.add_flag("--force", options->force, "Import even if running jobs lose their nodes: these jobs end as lost");
  on_run(command, session, [&session, options] { import_files(session, *options); });
}

}  // namespace railweave::cli
