#include "services/railweave/assess/assess.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fabric/formats/sources/source_kind.h"
#include "fabric/topology/checks/checks.h"
#include "services/railweave/assess/held_routes.h"
#include "services/railweave/assess/sections.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/file_output.h"
#include "services/railweave/lab/flows/qos_classes_file.h"
#include "services/railweave/site/site_files.h"
#include "services/railweave/site/site_options.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

using fabric::SourceKind;

struct AssessOptions {
  std::vector<std::string> files;
  SiteOptions site;
  std::string classes, path, title = "Railweave: what this site could gain";
  bool json = false;
};

bool is_cabled(const fabric::Topology& topology, const std::vector<fabric::Finding>& findings) {
  return !topology.switches().empty() &&
         std::ranges::count(findings, fabric::kTiersWithoutCables, &fabric::Finding::code) == 0;
}

void read_jobs(const std::vector<SiteFile>& files, SiteView& site) {
  for (const SiteFile& file : files) {
    const SourceKind kind = file.recognised.kind;
    if (kind == SourceKind::slurm_jobs) read_slurm_jobs(file, site.running);
    if (kind == SourceKind::kubernetes_pods) read_pods(file, site.running);
    if (kind == SourceKind::kubernetes_pods) read_ended_pods(file, site.past);
    if (kind == SourceKind::slurm_accounting) read_accounting(file, site.past);
    if (kind == SourceKind::kubernetes_pods) read_pod_environments(file, site.environments);
    if (kind == SourceKind::job_environment) read_environment(file, site.environments);
    site.jobs_given = site.jobs_given || kind == SourceKind::slurm_jobs || kind == SourceKind::kubernetes_pods;
    site.past_given = site.past_given || kind == SourceKind::slurm_accounting;
  }
  site.past_given = site.past_given || !site.past.jobs.empty() || site.past.left_out_count > 0;
}

// Types of virtual machines whose makers ship a topology for NCCL: Azure's ND ones. Machines without a virtual PCI tree are
// described by what NCCL itself wrote, which has <gpu> in it.
void read_machines(const std::vector<SiteFile>& files, SiteView& site) {
  for (const SiteFile& file : files) {
    if (file.recognised.kind == SourceKind::nccl_topology && file.text.find("<gpu") == std::string::npos) {
      site.topology_file = file.name;
    }
    if (file.recognised.kind != SourceKind::kubernetes_nodes) continue;
    const Json document = value_or_fail(parse_json(file.text, file.name));
    for (const Json& node : list(document, "items")) {
      const Json& metadata = field(node, foreign("metadata"));
      const std::string type = text_of(field(metadata, "labels"), foreign("node.kubernetes.io/instance-type"));
      if (type.starts_with("Standard_ND")) {
        const std::string name = text_of(metadata, "name");
        site.virtual_machines.emplace(name.substr(0, name.find('.')), type);
      }
    }
  }
}

SiteView view_of(const std::vector<SiteFile>& files, const AssessOptions& options) {
  SiteView site;
  site.topology = fabric_of(files, import_options(options.site));
  site.locality = fabric::derive_locality(*site.topology);
  site.findings = fabric::check_fabric(*site.topology);
  site.commands = ReportCommands(options.files, options.site, options.classes);
  if (is_cabled(*site.topology, site.findings)) site.own = route_fabric(site.topology, {});
  if (site.own) site.held = read_held_routes(files, site.own->routing.tables);
  for (const SiteFile& file : files) {
    const SourceKind kind = file.recognised.kind;
    const bool of_lanes = kind == SourceKind::opensm_levels || kind == SourceKind::opensm_lane_maps;
    if (of_lanes && !site.held) site.lanes_unused.push_back(file.name);
  }
  read_jobs(files, site);
  join_running(site.running.jobs, site.environments.jobs);
  read_machines(files, site);
  if (!options.classes.empty()) {
    site.classes = read_qos_classes(options.classes);
    site.classes_from = options.classes;
  }
  return site;
}

Report report_of(const SiteView& site, const std::vector<SiteFile>& files, const std::string& title) {
  Report report;
  report.title = title;
  report.sources.titles = {"file", "read as", "because", "time"};
  for (const SiteFile& file : files) {
    const bool known = file.recognised.kind != SourceKind::unknown;
    report.sources.rows.push_back({file.name,
                                   known ? std::string(fabric::description(file.recognised.kind)) : "nothing: left out",
                                   file.recognised.why, file.read_at});
  }
  for (const auto section :
       {fabric_section, routes_section, jobs_section, environment_section, past_section, headroom_section}) {
    report.sections.push_back(section(site));
  }
  return report;
}

void print_advice(Output& output, const Report& report) {
  // Beneath its row a sentence has no heading.
  const std::string costs = output.terminal().columns > 0 ? "costs: " : "";
  Table table({{.title = "SEVERITY"},
               {.title = "CODE", .name = true},
               {.title = "FINDING", .beneath = true},
               {.title = "WHAT IT COSTS", .beneath = true}});
  for (const Advice* advice : all_advice(report)) {
    table.add({{advice->severity, tone_of_severity(advice->severity)},
               advice->code,
               advice->title,
               costs + (advice->cost.empty() ? "-" : advice->cost)});
  }
  if (table.rows() == 0) return output.text("Nothing was found.\n");
  output.text(table.text(output.terminal()));
}

void run(Session& session, const AssessOptions& options) {
  const std::vector<SiteFile> files = read_site_files(options.files, fetch_access(options.site, session.options));
  refuse_unknown(files, session.output);
  const SiteView site = view_of(files, options);
  const Report report = report_of(site, files, options.title);
  const bool json = options.json || session.output.is_document() || options.path.ends_with(".json");
  const Json document = to_json(report);
  if (!options.path.empty()) {
    write_file_or_stdout(session.output, options.path, json ? json_text(document) : to_html(report));
    if (options.path == "-") return;
  } else if (json) {
    if (session.output.is_document()) return session.output.document(document);
    return session.output.text(json_text(document));
  }
  print_advice(session.output, report);
  if (options.path.empty()) session.output.note("railweave: note: -o report.html writes the whole report");
}

}  // namespace

void add_assess_command(CLI::App& root, Session& session) {
  auto options = std::make_shared<AssessOptions>();
  CLI::App& command = add_command(
      root, "assess", "Report on a site from what it already has, offline: cabling, routes, jobs, the past month",
      {"railweave assess dump.ibnetdiscover nodes.json -o report.html",
       "railweave assess dump.ibnetdiscover opensm.fdbs opensm-subnet.lst squeue.json sacct.txt -o report.html",
       "railweave assess nodes.json pods.json --json", "railweave assess dump.ibnetdiscover job-7.env nccl.conf --json",
       "railweave assess dumps/ --gpus-per-node 8 -o report.html"});
  command.group("Offline");
  command
      .add_option(
          "SOURCE", options->files,
          "Files, folders of them, or URLs: dumps of cables and of forwarding tables, nodes, running jobs, their "
          "environments (env, nccl.conf) and the accounting of past ones, as the site's own tools write them")
      ->type_name("SOURCE")
      ->required();
  add_site_options(command, options->site);
  command
      .add_option("--classes", options->classes,
                  "The site's traffic classes, as `railweave qos classes -o json` prints them: judges NCCL_IB_SL and "
                  "NCCL_IB_TC")
      ->type_name("FILE");
  command.add_option("--title", options->title, "Title of the report")->type_name("TEXT")->capture_default_str();
  command.add_flag("--json", options->json, "Write JSON instead of HTML");
  command
      .add_option("-O,--output-file", options->path,
                  "Write the report to this file, as HTML or, where it is called *.json, as JSON; also -o FILE")
      ->type_name("FILE");
  take_file_as_output(command, options->path);
  on_run(command, session, [&session, options] { run(session, *options); });
}

}  // namespace railweave::cli
