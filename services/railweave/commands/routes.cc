// railweave routes show|audit|path|diff.
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/listing.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/fabric.h"

namespace railweave::cli {
namespace {

std::string link_text(const Json& link) {
  if (!link.is_object()) return "-";
  return text_of(link, "from") + " -> " + text_of(link, "to") + " (" + text_of(link, "port") + ")";
}

Cell count_cell(const Json& value, std::string_view name, Tone tone) {
  return {text_of(value, name), count_of(value, name) == 0 ? Tone::good : tone};
}

void add_audit(Sheet& sheet, const Json& audit) {
  const bool sound = flag_of(audit, "sound");
  sheet.add("Sound",
            {sound ? "yes: all that is connected is reached, without loops" : "no", sound ? Tone::good : Tone::bad});
  sheet.add("Pairs", text_of(audit, "pairs"));
  sheet.add("Unreachable", count_cell(audit, "unreachablePairs", Tone::bad));
  if (count_of(audit, "cutOffPairs") > 0) sheet.add("  cut off by cables", text_of(audit, "cutOffPairs"));
  sheet.add("Credit loops", count_cell(audit, "creditLoops", Tone::bad));
  sheet.add("Lanes", text_of(audit, "lanesUsed"));
  sheet.add("Longest route", text_of(audit, "longestRoute") + " links between switches");
  sheet.add("Not minimal", text_of(audit, "nonminimalPairs") + " pairs");
  sheet.add("Fullest link", text_of(audit, "maxLinkLoad") + " pairs, " + link_text(field(audit, "maxLink")));
  sheet.add("  nodes only", text_of(audit, "maxLinkLoadHosts") + " pairs, " + link_text(field(audit, "maxLinkHosts")));
  sheet.add("Shifts", text_of(audit, "worstShiftLoad") + " flows on one link at worst");
  if (count_of(audit, "drainedEntries") > 0) {
    sheet.add("Over drained", {text_of(audit, "drainedEntries") + " entries", Tone::warning});
  }
}

void print_unreached(Output& output, const Json& audit) {
  const ListView view{{text_column("FROM SWITCH", "from"), text_column("TO", "to"), text_column("ENDS AT", "at"),
                       number_column("END PORTS", "endPorts"), text_column("REASON", "reason")},
                      {}};
  Table table = make_table(view, output.is_wide());
  for (const Json& pair : list(audit, "unreached")) add_row(table, view, output.is_wide(), pair);
  if (table.rows() == 0) return;
  output.text("\n");
  output.text(table.text(output.terminal()));
}

void show_routes(Session& session) {
  Output& output = session.output;
  const Json routes = session.service().get(Target("/v1/routes"));
  if (output.is_document()) return output.document(routes);
  Sheet sheet;
  sheet.add("Engine", text_of(routes, "engine"));
  sheet.add("Because", text_of(routes, "engineReason"));
  sheet.add("Switches", text_of(routes, "switches"));
  sheet.add("End ports", text_of(routes, "endPorts"));
  sheet.add("Lanes", text_of(routes, "lanesUsed"));
  sheet.add("Tables", text_of(routes, "tablesDigest"));
  output.text(sheet.text(output.terminal()));
  const ListView view{
      {text_column("SUBNET", "subnet"), number_column("SWITCHES", "switches"), number_column("END PORTS", "endPorts"),
       number_column("LIDS", "destinations"), number_column("LANES", "lanesUsed")},
      {}};
  Table table = make_table(view, output.is_wide());
  for (const Json& plane : list(routes, "planes")) add_row(table, view, output.is_wide(), plane);
  output.text("\n");
  output.text(table.text(output.terminal()));
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
  add_audit(sheet, report);
  output.text(sheet.text(output.terminal()));
  print_unreached(output, report);
  if (list(report, "findings").empty()) return;
  output.text("\n");
  print_findings(output, list(report, "findings"));
}

void path(Session& session, const std::string& from, const std::string& to) {
  Output& output = session.output;
  const Json answer = session.service().get(Target("/v1/routes/path").query("from", from).query("to", to));
  const Json& paths = list(answer, "paths");
  for (const Json& way : paths) {
    if (text_of(way, "outcome") != "arrived") session.exit_code = ExitCode::findings;
  }
  if (output.is_document()) return output.document(answer);
  const ListView view{{text_column("FROM", "from"), number_column("OUT", "outPort"), text_column("TO", "to"),
                       number_column("IN", "inPort"), number_column("LANE", "lane"), number_column("Gb/s", "rateGbps"),
                       text_column("LINK", "link", true)},
                      {}};
  bool first = true;
  for (const Json& way : paths) {
    if (!first) output.text("\n");
    first = false;
    const bool arrived = text_of(way, "outcome") == "arrived";
    Sheet sheet;
    sheet.add("Path", text_of(way, "from") + " -> " + text_of(way, "to") +
                          (field(way, "rail").is_string() ? ", rail " + text_of(way, "rail") : std::string()));
    if (!arrived) sheet.add("Outcome", {text_of(way, "outcome"), Tone::bad});
    if (count_of(way, "serviceLevel") > 0) sheet.add("Service level", text_of(way, "serviceLevel"));
    output.text(sheet.text(output.terminal()));
    Table table = make_table(view, output.is_wide());
    for (const Json& hop : list(way, "hops")) add_row(table, view, output.is_wide(), hop);
    output.text(table.text(output.terminal(), 2));
  }
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
    fail_usage("nothing is to change", "give --fail-link, --fail-switch, --drain-link or --drain-switch");
  }
  api::ClientRequest request;
  request.method = api::Method::post;
  request.target = "/v1/routes/diff";
  request.content_type = "application/json";
  request.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  const Json answer = session.service().send(std::move(request)).body;
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
                              (flag_of(answer, "dropsFirst") ? ", dropping what changes first" : ""));
  const Json& before = field(answer, "before");
  sheet.add("Fullest link before", text_of(before, "maxLinkLoadHosts") + " pairs of nodes' ports");
  sheet.add("Fullest link after",
            text_of(after, "maxLinkLoadHosts") + " pairs of nodes' ports, " + link_text(field(after, "maxLinkHosts")));
  sheet.add("Cut off", count_cell(after, "cutOffPairs", Tone::bad));
  sheet.add("Sound after", {flag_of(after, "sound") ? "yes" : "no", flag_of(after, "sound") ? Tone::good : Tone::bad});
  output.text(sheet.text(output.terminal()));
  const ListView view{
      {text_column("SWITCH", "switch"), number_column("ENTRIES", "entries"), number_column("BLOCKS", "blocks")}, {}};
  Table table = make_table(view, output.is_wide());
  for (const Json& sw : list(answer, "switches")) add_row(table, view, output.is_wide(), sw);
  if (table.rows() > 0) {
    output.text("\n");
    output.text(table.text(output.terminal()));
  }
  print_unreached(output, after);
}

}  // namespace

void add_route_commands(CLI::App& root, Session& session) {
  CLI::App& routes = add_noun(root, "routes", "How packets cross the fabric", "Fabric");
  routes.alias("route");

  on_run(add_command(routes, "show", "The engine that made the tables, why, and for what", {"railweave routes show"}),
         session, [&session] { show_routes(session); });
  on_run(
      add_command(routes, "audit",
                  "Walk every route: what is not reached, loops, the fullest links; exit code 10 where it is not sound",
                  {"railweave routes audit", "railweave routes audit -o json"}),
      session, [&session] { audit(session); });

  auto ends = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App& path_command =
      add_command(routes, "path", "Every hop, port and lane between two end ports",
                  {"railweave routes path dgx-001 dgx-112", "railweave routes path dgx-001/mlx5_3 lid:1380 -o wide"});
  path_command.add_option("FROM", ends->first, "A node, <node>/<device>, <guid>/<port> or lid:N")->required();
  path_command.add_option("TO", ends->second, "Likewise")->required();
  on_run(path_command, session, [&session, ends] { path(session, ends->first, ends->second); });

  auto change = std::make_shared<ChangeOptions>();
  CLI::App& diff_command =
      add_command(routes, "diff", "What would change if links or switches failed or were drained; changes nothing",
                  {"railweave routes diff --fail-switch spine-01",
                   "railweave routes diff --drain-link 0c42a10300280050/1--0c42a10300280060/3"});
  diff_command.add_option("--fail-link", change->fail_links, "This link is down; may be repeated")->type_name("LINK");
  diff_command.add_option("--fail-switch", change->fail_switches, "This switch is down; may be repeated")
      ->type_name("SWITCH");
  diff_command.add_option("--drain-link", change->drain_links, "No transit over this link; may be repeated")
      ->type_name("LINK");
  diff_command.add_option("--drain-switch", change->drain_switches, "No transit through this switch; may be repeated")
      ->type_name("SWITCH");
  on_run(diff_command, session, [&session, change] { diff(session, *change); });
}

}  // namespace railweave::cli
