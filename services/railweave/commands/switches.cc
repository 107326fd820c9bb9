// railweave switches list|show|history|table|config|check|drain|undrain.
#include <optional>

#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/commands/counter_history.h"
#include "services/railweave/commands/drains.h"
#include "services/railweave/switch_config/sonic_differences.h"
#include "services/railweave/switch_config/switch_config.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/views/link_end.h"

namespace railweave::cli {
namespace {

ListView switches_view() {
  return {{text_column("SWITCH", "id"),
           text_column("GUID", "guid"),
           number_column("TIER", "tier"),
           text_column("SUBNET", "subnet"),
           text_column("RACK", "rack"),
           number_column("LID", "lid"),
           number_column("PORTS", "ports"),
           number_column("CABLED", "cabledPorts"),
           {"STATE",
            [](const Json& item) { return flag_of(item, "drained") ? Cell("drained", Tone::warning) : Cell("ready"); }},
           text_column("DESCRIPTION", "description", true)},
          "no switches"};
}

void print_switch(Output& output, const Json& sw) {
  Sheet sheet;
  sheet.add("Switch", text_of(sw, "id"));
  sheet.add("GUID", text_of(sw, "guid"));
  sheet.add("Description", text_of(sw, "description"));
  sheet.add("Tier", text_of(sw, "tier"));
  sheet.add("Subnet", text_of(sw, "subnet") + ", LID " + text_of(sw, "lid"));
  sheet.add("Rack", text_of(sw, "rack"));
  sheet.add("Ports", text_of(sw, "ports") + ", " + text_of(sw, "cabledPorts") + " cabled");
  add_drain_line(sheet, sw);
  output.text(sheet.text(output.terminal()));
  Table table({{"PORT", Align::right}, {"Gb/s", Align::right}, {"PEER"}, {"PEER PORT"}});
  for (const auto& port : list(sw, "portList")) {
    const Json& peer = field(port, "peer");
    const bool cabled = peer.is_object();
    if (!cabled && !output.is_wide()) continue;
    table.add({text_of(port, "number"), text_of(port, "rateGbps"),
               cabled ? Cell(link_end_text(peer)) : Cell("not cabled", Tone::faint), text_of(peer, "portName")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

// A port number, or "dropped" for null; "-" where the applied table is unknown.
Cell port_cell(const Json& entry, const char* name, bool known) {
  if (field(entry, name).is_number()) return text_of(entry, name);
  return known ? Cell("dropped", Tone::warning) : Cell("-", Tone::faint);
}

ListView table_view() {
  return {{number_column("LID", "lid"),
           {"DESTINATION", [](const Json& entry) { return Cell(text_of(field(entry, "destination"), "device")); }},
           {"KIND", [](const Json& entry) { return Cell(text_of(field(entry, "destination"), "kind")); }, Align::left,
            true},
           {"WANTED", [](const Json& entry) { return port_cell(entry, "wantedPort", true); }, Align::right},
           text_column("TO", "wantedTo"),
           {"APPLIED",
            [](const Json& entry) { return port_cell(entry, "appliedPort", field(entry, "differs").is_boolean()); },
            Align::right},
           {"DIFFERS",
            [](const Json& entry) {
              return flag_of(entry, "differs") ? Cell("yes", Tone::bad) : Cell(text_of(entry, "differs"));
            }}},
          "the switch has no entry for this LID"};
}

struct TableOptions {
  std::string id;
  std::optional<std::uint64_t> lid;
  ListOptions list;
};

struct ConfigOptions {
  std::string id, to = "tc", names, path;
  std::uint64_t port_step = 8;
  bool check = false;
};

struct CheckOptions {
  std::string id, file;
  std::uint64_t port_step = 8;
};

constexpr std::size_t kNamesLimitBytes = 64U << 20U, kConfigLimitBytes = 64U << 20U;

constexpr ResourceKind kSwitch{"/v1/switches", "switch", "SWITCH", "Its name, its GUID, or lid:N", print_switch};

Json queues_of(Session& session, const std::string& id) {
  Json queues = session.service().get(Target(kSwitch.path).segment(id).path("/queues"));
  if (list(queues, "ports").empty()) fail_usage("switch '" + id + "' has no cabled Ethernet port");
  return queues;
}

void print_config(Session& session, const ConfigOptions& options) {
  const Target target = Target(kSwitch.path).segment(options.id);
  NetworkNames names;
  if (!options.names.empty()) names = read_network_names(value_or_fail(read_document(options.names, kNamesLimitBytes)));
  std::vector<std::string> notes;
  const bool is_of_routes = options.to == "routes";
  std::string text;
  if (options.to == "sonic") {
    if (options.check)
      fail_usage("--check is of Linux switches", "compare what a SONiC switch has: railweave switches check");
    text = sonic_lane_tables(queues_of(session, options.id), options.port_step, notes);
  } else {
    SwitchScript script;
    if (is_of_routes) {
      Json table = Json::array();
      session.service().each_item(
          Target(target).path("/forwarding-table"), 0, [&](const Json& entry) { table.push_back(entry); },
          [&] { table.clear(); });
      script = route_script(table, names, notes);
    } else {
      script = tc_script(queues_of(session, options.id), names, notes);
    }
    text = options.check ? check_script(script, is_of_routes) : script.text;
  }
  for (const std::string& note : notes) session.output.note("railweave: note: " + note);
  if (session.output.is_document() && options.path.empty()) {
    return session.output.document({{"format", options.to}, {"text", text}});
  }
  write_file_or_stdout(session.output, options.path, text);
}

void check_config(Session& session, const CheckOptions& options) {
  const Json there = value_or_fail(read_document(options.file, kConfigLimitBytes));
  if (!field(there, "PORT").is_object() && !field(there, "PORT_QOS_MAP").is_object()) {
    fail_usage(options.file + " is no CONFIG_DB: neither PORT nor PORT_QOS_MAP is in it",
               "on the switch: sonic-cfggen -d --print-data");
  }
  std::vector<std::string> notes;
  const Json wanted = Json::parse(sonic_lane_tables(queues_of(session, options.id), options.port_step, notes));
  const auto found = sonic_differences(wanted, there);
  const std::size_t ports = field(wanted, "PORT_QOS_MAP").size();
  if (!found.empty()) session.exit_code = ExitCode::findings;
  if (session.output.is_document()) {
    Json differences = Json::array();
    for (const auto& one : found) {
      differences.push_back({{"port", one.port}, {"setting", one.setting}, {"wanted", one.wanted}, {"has", one.has}});
    }
    return session.output.document({{"switch", options.id}, {"ports", ports}, {"differences", std::move(differences)}});
  }
  if (found.empty()) return session.output.text("as wanted: " + std::to_string(ports) + " ports\n");
  Table table({{"PORT"}, {"SETTING"}, {"WANTED"}, {"HAS"}});
  for (const auto& one : found) table.add({one.port, one.setting, one.wanted, Cell(one.has, Tone::bad)});
  session.output.text(table.text(session.output.terminal()));
}

void add_check_command(CLI::App& switches, Session& session) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App& command = add_command(
      switches, "check", "Compare the queues, lanes and marks that a SONiC switch has with those it should have",
      {"ssh leaf-07 sonic-cfggen -d --print-data | railweave switches check leaf-07 -",
       "railweave switches check leaf-07 config_db.json"});
  command.add_option(kSwitch.argument, options->id, kSwitch.meaning)->required();
  command.add_option("FILE", options->file, "The switch's CONFIG_DB as JSON; - is stdin")
      ->required()
      ->type_name("FILE");
  add_number_option(command, "--ethernet-step", options->port_step, "Step between the numbers of SONiC's ports",
                    {1, 16});
  on_run(command, session, [&session, options] { check_config(session, *options); });
}

void add_config_command(CLI::App& switches, Session& session) {
  auto options = std::make_shared<ConfigOptions>();
  CLI::App& command =
      add_command(switches, "config",
                  "Make the configuration of an Ethernet switch: queues of classes and of jobs' lanes, marks, routes",
                  {"railweave switches config leaf-07 --to sonic -O lanes.json",
                   "railweave switches config leaf-07 --to tc --names network.yaml",
                   "railweave switches config leaf-07 --to routes --names network.yaml",
                   "railweave switches config leaf-07 --names network.yaml --check | ssh leaf-07 sh"});
  command.add_option(kSwitch.argument, options->id, kSwitch.meaning)->required();
  add_choice_option(command, "--to", options->to,
                    "What to make: queues and filters of a Linux switch, its routes, or tables of SONiC",
                    "tc|routes|sonic");
  command
      .add_option("--names", options->names,
                  "JSON or YAML: addresses by device (an adapter, a switch), interfaces by number of the port")
      ->type_name("FILE");
  add_number_option(command, "--ethernet-step", options->port_step, "Step between the numbers of SONiC's ports",
                    {1, 16});
  command.add_flag("--check", options->check,
                   "Make a script that tells whether the switch has that configuration, and changes nothing");
  add_output_file_option(command, options->path);
  on_run(command, session, [&session, options] { print_config(session, *options); });
}

}  // namespace

void add_switch_commands(CLI::App& root, Session& session) {
  CLI::App& switches = add_noun(root, "switches", "Switches and their ports", "Fabric");
  switches.alias("switch");
  add_list_command(switches, session, "List switches",
                   {"railweave switches list --tier 0", "railweave switches list --subnet compute"},
                   {"/v1/switches",
                    switches_view(),
                    {{"--tier", "tier", "N", "Only switches of this tier; 0 is nearest to the hosts"},
                     {"--subnet", "subnet", "NAME", "Only switches of this subnet"}}});
  add_show_command(switches, session, kSwitch,
                   "Show a switch and the peers of its cabled ports (-o wide: of all ports)",
                   {"railweave switches show leaf-07", "railweave switches show lid:1380"});

  add_history_command(switches, session, {kSwitch.path, kSwitch.argument, kSwitch.meaning, "leaf-07"});
  auto options = std::make_shared<TableOptions>();
  CLI::App& table_command = add_command(
      switches, "table", "Show a switch's forwarding table: the wanted port of each LID and the applied one",
      {"railweave switches table leaf-07", "railweave switches table leaf-07 --lid 1380"});
  table_command.add_option(kSwitch.argument, options->id, kSwitch.meaning)->required();
  add_number_option(table_command, "--lid", options->lid, "Only the entry of this LID", {1, 65'535})->type_name("LID");
  add_list_options(table_command, options->list, table_view());
  on_run(table_command, session, [&session, options] {
    Target target = Target(kSwitch.path).segment(options->id).path("/forwarding-table");
    if (options->lid) target.query("lid", std::to_string(*options->lid));
    print_list(session, target, table_view(), options->list);
  });
  add_config_command(switches, session);
  add_check_command(switches, session);
  add_drain_commands(switches, session, {"switches", "switch", kSwitch.argument, kSwitch.meaning, "leaf-07"});
}

}  // namespace railweave::cli
