// railweave lab route: computes and audits forwarding tables for the fabric of a file, also after link failures.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "fabric/routing/opensm/opensm_dumps.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/lab/engine_comparison.h"
#include "services/railweave/lab/engine_option.h"
#include "services/railweave/lab/fabric_file.h"
#include "services/railweave/lab/failures.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/lab/routed_fabric.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/terminal/table.h"
#include "services/railweave/views/fabric.h"

namespace railweave::cli {
namespace {

struct LabRouteOptions {
  FabricFileOptions fabric;
  FailureOptions failures;
  RouteRequest request;
  std::string fdbs, subnet, fail_on = "error";
  bool compare = false;
};

std::string milliseconds(const Json& answer, FieldName name) {
  const Json& value = field(answer, name);
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", value.is_number() ? value.get<double>() : 0.0);
  return text;
}

Cell count_cell(const Json& answer, FieldName name) {
  return {std::to_string(count_of(answer, name)), count_of(answer, name) > 0 ? Tone::bad : Tone::good};
}

std::string load_text(const Json& audit, FieldName load, FieldName link) {
  std::string text = fmt::format("{} pairs", count_of(audit, load));
  const Json& where = field(audit, link);
  if (!where.is_object()) return text;
  return text + ", from " + text_of(where, "from") + " (" + text_of(where, "port") + ") to " + text_of(where, "to");
}

void add_failures(Sheet& sheet, const Output& output, const Json& answer) {
  const Json& failed = list(answer, foreign("failedLinks"));
  if (failed.empty()) return;
  sheet.add("Failed links", fmt::format("{}: {}", failed.size(), joined(failed, output.is_wide() ? SIZE_MAX : 2)));
  sheet.add("Rerouted in", milliseconds(answer, foreign("rerouteMs")) +
                               (flag_of(answer, "incremental") ? ", incrementally" : ", from scratch"));
  std::string changed = fmt::format("{} entries in {} blocks of 64", count_of(answer, "changedEntries"),
                                    count_of(answer, "changedBlocks"));
  if (count_of(answer, "changedBlocks") > 0) {
    changed += fmt::format(", written in {}{}", count_of(answer, "stages"),
                           count_of(answer, "stages") == 1 ? " stage" : " stages");
    if (flag_of(answer, "dropsFirst")) changed += ", dropping changed entries first";
  }
  sheet.add("Changed", changed);
  const Json& healthy = field(answer, foreign("healthy"));
  sheet.add("Before", fmt::format("{} pairs of hosts on the fullest link", count_of(healthy, "maxLinkLoadHosts")));
}

void add_comparison(Sheet& sheet, const Json& answer) {
  const Json& other = field(answer, foreign("against"));
  if (!other.is_object()) return;
  sheet.add("Compared with", text_of(other, "source"));
  sheet.add("  differing",
            fmt::format("{} of {} entries", count_of(other, foreign("differingEntries")), count_of(other, "entries")));
  sheet.add("  its unreachable pairs", count_cell(other, "unreachablePairs"));
  sheet.add("  its credit loops", {text_of(other, "creditLoops") + " if all its routes share one lane",
                                   count_of(other, "creditLoops") > 0 ? Tone::warning : Tone::plain});
  sheet.add("  its fullest link", load_text(other, "maxLinkLoadHosts", "maxLinkHosts"));
}

void add_multipath(Sheet& sheet, const Json& answer) {
  const Json& spread = field(answer, foreign("multipath"));
  if (!spread.is_object()) return;
  const bool verified = flag_of(spread, "sound");
  sheet.add(
      "All shortest paths",
      {verified ? "verified, at most " + text_of(spread, foreign("mostMembers")) + " links in a set" : "not verified",
       verified ? Tone::good : Tone::bad});
  char text[64];
  const auto number = [](const Json& value) { return value.is_number() ? value.get<double>() : 0.0; };
  std::snprintf(text, sizeof text, "%.1f pairs, split evenly", number(field(spread, "maxLinkLoadHosts")));
  sheet.add("  fullest link", text);
  std::snprintf(text, sizeof text, "%.2f times the load of an even split (",
                number(field(spread, foreign("collisionFactor"))));
  sheet.add("  if hashed", text + text_of(spread, foreign("hashedFlows")) + " flows on " +
                               text_of(spread, foreign("hashedMembers")) + " links)");
}

void print(Output& output, const Json& answer) {
  Sheet sheet;
  sheet.add("Engine", text_of(answer, "engine") + ": " + text_of(answer, "engineReason"));
  sheet.add("Routed", text_of(answer, "switches") + " switches, " + text_of(answer, "endPorts") + " end ports (" +
                          text_of(answer, "hostPorts") + " of hosts) in " + milliseconds(answer, foreign("routeMs")));
  add_failures(sheet, output, answer);
  sheet.add("Pairs unreachable", count_cell(answer, "unreachablePairs"));
  sheet.add("Credit loops", count_cell(answer, "creditLoops"));
  sheet.add("Lanes", text_of(answer, "lanesUsed"));
  sheet.add("Fullest link", load_text(answer, "maxLinkLoadHosts", "maxLinkHosts"));
  if (output.is_wide()) {
    sheet.add("  with aggregation", load_text(answer, "maxLinkLoad", "maxLink"));
    sheet.add("Longest route", text_of(answer, "longestRoute") + " links; " + text_of(answer, "nonminimalPairs") +
                                   " pairs take more links than necessary");
    sheet.add("Worst shift", text_of(answer, "worstShiftLoad") + " flows on one link");
    sheet.add("Tables", text_of(answer, "tablesDigest"));
  }
  char memory[48];
  const Json& peak = field(answer, foreign("peakMiB"));
  std::snprintf(memory, sizeof memory, ", peak memory %.0f MiB", peak.is_number() ? peak.get<double>() : 0.0);
  sheet.add("Audited in", milliseconds(answer, foreign("auditMs")) + memory);
  add_multipath(sheet, answer);
  add_comparison(sheet, answer);
  output.text(sheet.text(output.terminal()) + "\n");
  if (field(answer, foreign("engines")).is_array()) print_engines(output, field(answer, foreign("engines")));
  print_findings(output, list(answer, "findings"));
}

void check(const LabRouteOptions& options) {
  if (!options.request.against_subnet.empty() && options.request.against.empty()) {
    fail_usage("--against-subnet needs --against", "it tells to which ports the LIDs of --against belong");
  }
  const auto is_stdin = [](const std::string& path) { return path == "-" ? 1 : 0; };
  if (is_stdin(options.fabric.path) + is_stdin(options.request.against) + is_stdin(options.request.against_subnet) >
      1) {
    fail_usage("only one file can be read from stdin");
  }
  if (options.fdbs == "-" || options.subnet == "-") {
    fail_usage("--write-fdbs and --write-subnet cannot write to stdout, which has the report", "name a file");
  }
}

void run(Session& session, const LabRouteOptions& options) {
  Output& output = session.output;
  check(options);
  const FabricFile file = read_fabric_file(options.fabric);
  RouteRequest request = options.request;
  request.failures = choose_failures(*file.topology, options.failures);
  const RoutedFabric routed = route_fabric(file.topology, request);
  if (!options.fdbs.empty()) write_file_or_stdout(output, options.fdbs, fabric::write_fdbs(routed.routing.tables));
  if (!options.subnet.empty()) {
    write_file_or_stdout(output, options.subnet, fabric::write_subnet_list(routed.view, routed.routing.tables.scope()));
  }
  Json answer = to_json(routed.report, *file.topology);
  if (options.compare) answer["engines"] = to_json(compare_engines(routed, request));
  session.exit_code = exit_code_of_findings(list(answer, "findings"), options.fail_on);
  if (output.is_document()) return output.document(answer);
  print(output, answer);
}

}  // namespace

void add_lab_route_command(CLI::App& lab, Session& session) {
  auto options = std::make_shared<LabRouteOptions>();
  CLI::App& command = add_command(
      lab, "route", "Compute forwarding tables for a fabric file, audit them, and show what link failures change",
      {"railweave lab route dump.ibnetdiscover", "railweave lab route fabric.json --fail-random 1% --seed 7 -o json",
       "railweave lab route dump.ibnetdiscover --fail 0x248a070300f0e1d0/1 --fail leaf-7",
       "railweave lab route dump.ibnetdiscover --compare", "railweave lab route fabric.net --against opensm-lfts.dump",
       "railweave lab route fabric.net --write-fdbs opensm.fdbs --write-subnet opensm-subnet.lst"});
  add_fabric_file_options(command, options->fabric);
  add_engine_option(command, options->request.engine);
  add_number_option(command, "--lmc", options->request.lmc, "Give every host port 2^N LIDs, overriding the file",
                    {0, 7});
  add_number_option(command, "--max-lanes", options->request.max_lanes, "Most virtual lanes that routes may use",
                    {1, 15});
  add_failure_options(command, options->failures);
  command.add_flag("--compare", options->compare,
                   "Also route by every engine: fullest links, lanes, detours and times side by side");
  command.add_flag(
      "--multipath", options->request.multipath,
      "Also audit path sets, as used by ECMP, packet spraying and adaptive routing: load and hash collisions");
  command
      .add_option("--against", options->request.against,
                  "Compare with tables dumped by OpenSM: opensm-lfts.dump or opensm.fdbs")
      ->type_name("FILE");
  command
      .add_option("--against-subnet", options->request.against_subnet,
                  "OpenSM's opensm-subnet.lst: maps the LIDs of opensm.fdbs to ports where the fabric file does not")
      ->type_name("FILE");
  command.add_option("--write-fdbs", options->fdbs, "Write the tables in OpenSM's format (opensm.fdbs)")
      ->type_name("FILE");
  command.add_option("--write-subnet", options->subnet, "Write the links in OpenSM's format (opensm-subnet.lst)")
      ->type_name("FILE");
  add_fail_on_option(command, options->fail_on);
  on_run(command, session, [&session, options] { run(session, *options); });
}

}  // namespace railweave::cli
