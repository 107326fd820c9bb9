#include "services/railweave/commands/switches/switch_configs.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/commands/switches/switch_follow.h"
#include "services/railweave/commands/switches/switch_tables.h"
#include "services/railweave/switch_config/sonic_differences.h"
#include "services/railweave/switch_config/switch_config.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

constexpr const char* kSwitches = "/v1/switches";
constexpr std::size_t kConfigLimitBytes = 64U << 20U;

struct SwitchOptions {
  std::string id, names;
  SonicSwitch sonic;
};

struct ConfigOptions : SwitchOptions {
  std::string to = "tc", path;
  bool check = false;
};

struct CheckOptions : SwitchOptions {
  std::string file;
};

Json queues_of(Session& session, const std::string& id) {
  Json queues = session.service().get(Target(kSwitches).segment(id).path("/queues"));
  if (list(queues, "ports").empty()) fail_usage("switch '" + id + "' has no cabled Ethernet port");
  return queues;
}

NetworkNames names_of(const SwitchOptions& options) {
  return read_network_names(read_names_document(options.names), options.id);
}

std::string config_text(Session& session, const ConfigOptions& options, std::vector<std::string>& notes) {
  const NetworkNames names = names_of(options);
  if (options.to.starts_with("sonic")) {
    if (options.check) {
      fail_usage("--check is of Linux switches", "compare what a SONiC switch has: railweave switches check");
    }
    return options.to == "sonic"
               ? sonic_lane_tables(queues_of(session, options.id), names, options.sonic, notes)
               : sonic_routes(table_of_switch(session.service(), options.id), names, options.sonic.port_step, notes);
  }
  const bool is_of_routes = options.to == "routes";
  const SwitchScript script = is_of_routes ? route_script(table_of_switch(session.service(), options.id), names, notes)
                                           : tc_script(queues_of(session, options.id), names, notes);
  return options.check ? check_script(script, is_of_routes) : script.text;
}

void print_config(Session& session, const ConfigOptions& options) {
  std::vector<std::string> notes;
  const std::string text = config_text(session, options, notes);
  for (const std::string& note : notes) session.output.note("railweave: note: " + note);
  if (session.output.is_document() && options.path.empty()) {
    return session.output.document({{"format", options.to}, {"text", text}});
  }
  write_file_or_stdout(session.output, options.path, text);
}

void check_config(Session& session, const CheckOptions& options) {
  const Json there = value_or_fail(read_document(options.file, kConfigLimitBytes));
  if (!field(there, foreign("PORT")).is_object() && !field(there, foreign("PORT_QOS_MAP")).is_object()) {
    fail_usage(options.file + " is no CONFIG_DB: neither PORT nor PORT_QOS_MAP is in it",
               "on the switch: sonic-cfggen -d --print-data");
  }
  std::vector<std::string> ignored, notes;
  const NetworkNames names = names_of(options);
  const Json queues = queues_of(session, options.id);
  Json wanted = Json::parse(sonic_lane_tables(queues, names, options.sonic, ignored));
  if (!options.names.empty()) {
    wanted.update(Json::parse(
        sonic_routes(table_of_switch(session.service(), options.id), names, options.sonic.port_step, notes)));
  } else {
    notes.emplace_back("routes are not compared without --names");
  }
  if (!field(there, foreign("PORT")).is_object())
    notes.emplace_back("ports are not compared: the table PORT is not in the file");
  for (const std::string& note : notes) session.output.note("railweave: note: " + note);
  const auto found = sonic_differences(wanted, there, sonic_ports(queues, names, options.sonic));
  const std::size_t ports = field(wanted, foreign("PORT_QOS_MAP")).size(),
                    routes = field(wanted, foreign("STATIC_ROUTE")).size();
  if (!found.empty()) session.exit_code = ExitCode::findings;
  if (session.output.is_document()) {
    Json differences = Json::array();
    for (const auto& one : found) {
      differences.push_back({{"port", one.port}, {"setting", one.setting}, {"wanted", one.wanted}, {"has", one.has}});
    }
    return session.output.document(
        {{"switch", options.id}, {"ports", ports}, {"routes", routes}, {"differences", std::move(differences)}});
  }
  if (found.empty()) {
    return session.output.text(fmt::format("as wanted: {} ports, {} routes\n", ports, routes));
  }
  Table table({{"PORT"}, {"SETTING"}, {"WANTED"}, {"HAS"}});
  for (const auto& one : found) table.add({one.port, one.setting, one.wanted, Cell(one.has, Tone::bad)});
  session.output.text(table.text(session.output.terminal()));
}

void add_switch_options(CLI::App& command, SwitchOptions& options) {
  command.add_option("SWITCH", options.id, "Its name, its GUID, or lid:N")->required();
  add_names_option(command, options.names);
  add_port_step_option(command, options.sonic.port_step);
  add_number_option(command, "--buffer", options.sonic.buffer_mib, "Packet memory of a SONiC switch, in MiB",
                    {1, 4096});
}

void add_check_command(CLI::App& switches, Session& session) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App& command = add_command(
      switches, "check",
      "Compare the ports, queues, lanes, marks, pauses and routes of a SONiC switch with those it should have",
      {"ssh leaf-07 sonic-cfggen -d --print-data | railweave switches check leaf-07 -",
       "railweave switches check leaf-07 config_db.json --names network.yaml"});
  add_switch_options(command, *options);
  command.add_option("FILE", options->file, "The switch's CONFIG_DB as JSON; - is stdin")
      ->required()
      ->type_name("FILE");
  on_run(command, session, [&session, options] { check_config(session, *options); });
}

void add_config_command(CLI::App& switches, Session& session) {
  auto options = std::make_shared<ConfigOptions>();
  CLI::App& command =
      add_command(switches, "config",
                  "Make the configuration of an Ethernet switch: queues of classes and of jobs' lanes, marks, routes",
                  {"railweave switches config leaf-07 --to sonic -O lanes.json",
                   "railweave switches config leaf-07 --to sonic-routes --names network.yaml -O routes.json",
                   "railweave switches config leaf-07 --to tc --names network.yaml",
                   "railweave switches config leaf-07 --to routes --names network.yaml",
                   "railweave switches config leaf-07 --names network.yaml --check | ssh leaf-07 sh"});
  add_switch_options(command, *options);
  add_choice_option(command, "--to", options->to,
                    "What to make: queues and filters of a Linux switch, its routes, or the same as tables of SONiC",
                    "tc|routes|sonic|sonic-routes");
  command.add_flag("--check", options->check,
                   "Make a script that tells whether the switch has that configuration, and changes nothing");
  add_output_file_option(command, options->path);
  on_run(command, session, [&session, options] { print_config(session, *options); });
}

}  // namespace

void add_switch_config_commands(CLI::App& switches, Session& session) {
  add_config_command(switches, session);
  add_check_command(switches, session);
  add_switch_follow_command(switches, session);
}

}  // namespace railweave::cli
