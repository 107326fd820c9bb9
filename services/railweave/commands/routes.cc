// railweave routes show|audit|path|diff.
#include <algorithm>

#include <fmt/core.h>

#include "services/railweave/command_line/listing.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/fabric.h"
#include "services/railweave/views/tables.h"

namespace railweave::cli {
namespace {

std::string link_text(const Json& link) {
  if (!link.is_object()) return "-";
  const std::string port = text_of(link, "port");  // GUID/NUMBER: the device is named by `from`
  return text_of(link, "from") + port.substr(std::min(port.find('/'), port.size())) + " -> " + text_of(link, "to");
}

Cell count_cell(const Json& value, FieldName name, Tone tone) {
  return {text_of(value, name), count_of(value, name) == 0 ? Tone::good : tone};
}

void add_audit(Sheet& sheet, const Json& audit) {
  const bool verified = flag_of(audit, "sound");
  sheet.add("Verified", {verified ? "yes: every connected pair is reached, without loops or credit cycles" : "no",
                         verified ? Tone::good : Tone::bad});
  sheet.add("Pairs", text_of(audit, "pairs"));
  sheet.add("Unreachable", count_cell(audit, "unreachablePairs", Tone::bad));
  if (count_of(audit, "cutOffPairs") > 0) sheet.add("  not connected", text_of(audit, "cutOffPairs"));
  sheet.add("Credit loops", count_cell(audit, "creditLoops", Tone::bad));
  sheet.add("Lanes", text_of(audit, "lanesUsed"));
  sheet.add("Longest route", text_of(audit, "longestRoute") + " links between switches");
  sheet.add("Not minimal", text_of(audit, "nonminimalPairs") + " pairs");
  sheet.add("Fullest link", text_of(audit, "maxLinkLoad") + " pairs, " + link_text(field(audit, "maxLink")));
  sheet.add("  between nodes",
            text_of(audit, "maxLinkLoadHosts") + " pairs, " + link_text(field(audit, "maxLinkHosts")));
  sheet.add("Worst shift", text_of(audit, "worstShiftLoad") + " flows on one link");
  if (count_of(audit, "drainedEntries") > 0) {
    sheet.add("Through drained", {text_of(audit, "drainedEntries") + " entries", Tone::warning});
  }
}

void print_unreached(Output& output, const Json& audit) {
  const ListView view{{text_column("FROM SWITCH", "from"), text_column("TO", "to"), text_column("ENDS AT", "at"),
                       number_column("END PORTS", "endPorts"), text_column("REASON", "reason")},
                      {}};
  const std::string text = table_text(view, list(audit, "unreached"), output);
  if (!text.empty()) output.text("\n" + text);
}

void show_routes(Session& session) {
  Output& output = session.output;
  const Json routes = session.service().get(Target("/v1/routes"));
  if (output.is_document()) return output.document(routes);
  Sheet sheet;
  sheet.add("Engine", text_of(routes, "engine"));
  sheet.add("Reason", text_of(routes, "engineReason"));
  sheet.add("Switches", text_of(routes, "switches"));
  sheet.add("End ports", text_of(routes, "endPorts"));
  sheet.add("Lanes", text_of(routes, "lanesUsed"));
  sheet.add("Digest", text_of(routes, "tablesDigest"));
  add_tables(sheet, list(routes, "tables"));
  output.text(sheet.text(output.terminal()));
  const ListView view{
      {text_column("SUBNET", "subnet"), number_column("SWITCHES", "switches"), number_column("END PORTS", "endPorts"),
       number_column("LIDS", "destinations"), number_column("LANES", "lanesUsed")},
      {}};
  output.text("\n" + table_text(view, list(routes, "planes"), output));
  if (list(routes, "findings").empty()) return;
  output.text("\n");
  print_findings(output, list(routes, "findings"));
}

void audit(Session& session) {
  Output& output = session.output;
  const Json report = session.service().get(Target("/v1/routes/audit"));
  if (!flag_of(report, "sound")) session.exit_code = ExitCode::findings;
  if (output.is_document()) return output.document(report);
  Sheet sheet;
  sheet.add("Engine", text_of(report, "engine"));
  add_tables(sheet, list(report, "tables"));
  add_audit(sheet, report);
  output.text(sheet.text(output.terminal()));
  print_unreached(output, report);
  if (list(report, "findings").empty()) return;
  output.text("\n");
  print_findings(output, list(report, "findings"));
}

void show_paths(Session& session, const std::string& from, const std::string& to) {
  Output& output = session.output;
  if (from == to)
    fail_usage("FROM and TO are both '" + from + "'", "name two nodes, such as railweave routes path dgx-001 dgx-112");
  const Json answer = session.service().get(Target("/v1/routes/path").query("from", from).query("to", to));
  const Json& paths = list(answer, "paths");
  for (const Json& path : paths) {
    if (text_of(path, "outcome") != "arrived") session.exit_code = ExitCode::findings;
  }
  if (output.is_document()) return output.document(answer);
  const ListView view{{text_column("FROM", "from"), number_column("OUT", "outPort"), text_column("TO", "to"),
                       number_column("IN", "inPort"), number_column("LANE", "lane"), number_column("Gb/s", "rateGbps"),
                       text_column("LINK", "link", true)},
                      {}};
  bool first = true;
  for (const Json& path : paths) {
    if (!first) output.text("\n");
    first = false;
    const bool arrived = text_of(path, "outcome") == "arrived";
    Sheet sheet;
    sheet.add("Path", text_of(path, "from") + " -> " + text_of(path, "to") +
                          (field(path, "rail").is_string() ? ", rail " + text_of(path, "rail") : std::string()));
    if (!arrived) sheet.add("Outcome", {text_of(path, "outcome"), Tone::bad});
    if (count_of(path, "serviceLevel") > 0) sheet.add("Service level", text_of(path, "serviceLevel"));
    output.text(sheet.text(output.terminal()));
    Table table = make_table(view, output.is_wide());
    for (const Json& hop : list(path, "hops")) add_row(table, view, output.is_wide(), hop);
    output.text(table.text(output.terminal(), 2));
  }
  Sheet whose;
  add_tables(whose, list(answer, "tables"));
  output.text("\n" + whose.text(output.terminal()));
}

struct ChangeOptions {
  std::vector<std::string> fail_links, fail_switches, drain_links, drain_switches;
};

void diff(Session& session, const ChangeOptions& options) {
  Output& output = session.output;
  Json body = Json::object();
  for (const auto& [name, values] :
       {std::pair("failLinks", &options.fail_links), std::pair("failSwitches", &options.fail_switches),
        std::pair("drainLinks", &options.drain_links), std::pair("drainSwitches", &options.drain_switches)}) {
    if (!values->empty()) body[name] = *values;
  }
  if (body.empty()) {
    fail_usage("no change is requested", "give --fail-link, --fail-switch, --drain-link or --drain-switch");
  }
  const Json answer = session.service().post(Target("/v1/routes/diff"), body);
  const Json& after = field(answer, "after");
  if (!flag_of(after, "sound")) session.exit_code = ExitCode::findings;
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  sheet.add("Changes", text_of(answer, "changedEntries") + " entries in " + text_of(answer, "changedBlocks") +
                           " blocks of " + text_of(answer, "changedSwitches") + " switches");
  if (count_of(answer, "urgentWrites") > 0) {
    sheet.add("For running jobs", text_of(answer, "urgentWrites") + " of the blocks, written first");
  }
  sheet.add("Written in", text_of(answer, "stages") + " stages" +
                              (flag_of(answer, "dropsFirst") ? ", dropping changed entries first" : ""));
  const Json& before = field(answer, "before");
  sheet.add("Fullest link before", text_of(before, "maxLinkLoadHosts") + " pairs of node ports");
  sheet.add("Fullest link after",
            text_of(after, "maxLinkLoadHosts") + " pairs of node ports, " + link_text(field(after, "maxLinkHosts")));
  const auto cut_off = count_of(answer, "cutsOffCount");
  sheet.add("Cuts off", cut_off == 0
                            ? Cell("nothing", Tone::good)
                            : Cell(fmt::format("{}{}", cut_off, cut_off == 1 ? " end port" : " end ports"), Tone::bad));
  const bool verified = flag_of(after, "sound");
  sheet.add("Verified after", {verified ? "yes" : "no", verified ? Tone::good : Tone::bad});
  output.text(sheet.text(output.terminal()));
  const ListView view{
      {text_column("SWITCH", "switch"), number_column("ENTRIES", "entries"), number_column("BLOCKS", "blocks")}, {}};
  const ListView ends{{text_column("CUT OFF", "device")}, {}};
  const std::string cut = table_text(ends, list(answer, "cutsOff"), output);
  if (!cut.empty()) output.text("\n" + cut);
  const std::string switches = table_text(view, list(answer, "switches"), output);
  if (!switches.empty()) output.text("\n" + switches);
  if (!verified) print_unreached(output, after);
}

}  // namespace

void add_route_commands(CLI::App& root, Session& session) {
  CLI::App& routes = add_noun(root, "routes", "How packets cross the fabric", "Fabric");
  routes.alias("route");

  on_run(add_command(routes, "show", "Show the engine that computed the tables, and why it was chosen",
                     {"railweave routes show"}),
         session, [&session] { show_routes(session); });
  on_run(add_command(
             routes, "audit",
             "Audit the routes in force: unreachable pairs, loops, the fullest links; exit code 10 unless verified",
             {"railweave routes audit", "railweave routes audit -o json"}),
         session, [&session] { audit(session); });

  auto ends = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App& path_command =
      add_command(routes, "path", "Show every hop, port and lane between two end ports",
                  {"railweave routes path dgx-001 dgx-112", "railweave routes path dgx-001/mlx5_3 lid:1380 -o wide"});
  path_command.add_option("FROM", ends->first, "A node, <node>/<device>, <guid>/<port> or lid:N")->required();
  path_command.add_option("TO", ends->second, "As FROM")->required();
  on_run(path_command, session, [&session, ends] { show_paths(session, ends->first, ends->second); });

  auto change = std::make_shared<ChangeOptions>();
  CLI::App& diff_command = add_command(
      routes, "diff", "Show how routes would change if links or switches failed or were drained; changes nothing",
      {"railweave routes diff --fail-switch spine-01",
       "railweave routes diff --drain-link 0c42a10300280050/1--0c42a10300280060/3"});
  diff_command.add_option("--fail-link", change->fail_links, "Assume that this link is down; repeatable")
      ->type_name("LINK");
  diff_command.add_option("--fail-switch", change->fail_switches, "Assume that this switch is down; repeatable")
      ->type_name("SWITCH");
  diff_command.add_option("--drain-link", change->drain_links, "Assume that this link is drained; repeatable")
      ->type_name("LINK");
  diff_command.add_option("--drain-switch", change->drain_switches, "Assume that this switch is drained; repeatable")
      ->type_name("SWITCH");
  on_run(diff_command, session, [&session, change] { diff(session, *change); });
}

}  // namespace railweave::cli
