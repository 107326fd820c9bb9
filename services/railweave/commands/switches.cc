// railweave switches list|show|history|table|config|check|drain|undrain.
#include <optional>

#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/commands/counter_history.h"
#include "services/railweave/commands/drains.h"
#include "services/railweave/commands/switches/switch_configs.h"
#include "services/railweave/connection/rest_words.h"
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
Cell port_cell(const Json& entry, FieldName name, bool known) {
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
            }},
           {"READ",
            [](const Json& entry) {
              return field(entry, "seenAt").is_string() ? Cell(time_of(entry, "seenAt")) : Cell("never", Tone::faint);
            },
            Align::left, true}},
          "the switch has no entry for this LID"};
}

struct TableOptions {
  std::string id;
  std::optional<std::uint64_t> lid;
  ListOptions list;
};

constexpr ResourceKind kSwitch{"/v1/switches", "switch", "SWITCH", "Its name, its GUID, or lid:N", print_switch};

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
  add_switch_config_commands(switches, session);
  add_drain_commands(switches, session, {"switches", "switch", kSwitch.argument, kSwitch.meaning, "leaf-07"});
}

}  // namespace railweave::cli
