// railweave switches list|show|table|drain|undrain.
#include <optional>

#include "services/railweave/command_line/listing.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/commands/drains.h"

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

// Who is at the other end: "leaf-3 port 7", "dgx-017 mlx5_4".
std::string peer_text(const Json& end) {
  if (field(end, "switch").is_string()) return text_of(end, "switch");
  if (field(end, "node").is_string()) {
    const std::string detail = field(end, "device").is_string() ? text_of(end, "device") : "GPU " + text_of(end, "gpu");
    return text_of(end, "node") + " " + detail;
  }
  return field(end, "nvlinkDomain").is_string() ? text_of(end, "nvlinkDomain") : text_of(end, "device");
}

void show_switch(Session& session, const std::string& id) {
  Output& output = session.output;
  const Json sw = session.service().get(Target("/v1/switches").segment(id));
  if (output.is_document()) return output.document(sw);
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
               cabled ? Cell(peer_text(peer)) : Cell("not cabled", Tone::faint), text_of(peer, "port")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

// Of an entry's field that is null for "dropped", unless nothing is known.
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
          "no such LID is routed there"};
}

struct TableOptions {
  std::string id;
  std::optional<std::uint64_t> lid;
  std::uint64_t limit = 0;
};

struct SwitchListOptions {
  std::string tier, subnet;
  std::uint64_t limit = 0;
};

}  // namespace

void add_switch_commands(CLI::App& root, Session& session) {
  CLI::App& switches = add_noun(root, "switches", "Switches and their ports", "Fabric");
  switches.alias("switch");

  auto options = std::make_shared<SwitchListOptions>();
  CLI::App& list_command =
      add_command(switches, "list", "All switches, or those of a tier or subnet",
                  {"railweave switches list --tier 0", "railweave switches list --subnet compute"});
  list_command.add_option("--tier", options->tier, "On this tier; 0 is nearest to the hosts")->type_name("N");
  list_command.add_option("--subnet", options->subnet, "In this subnet")->type_name("NAME");
  add_limit_option(list_command, options->limit);
  on_run(list_command, session, [&session, options] {
    Target target("/v1/switches");
    target.filter("tier", options->tier).filter("subnet", options->subnet);
    print_list(session, target, switches_view(), options->limit);
  });

  auto id = std::make_shared<std::string>();
  CLI::App& show_command =
      add_command(switches, "show", "One switch and what its cabled ports lead to (-o wide: all ports)",
                  {"railweave switches show leaf-07", "railweave switches show lid:1380"});
  show_command.add_option("SWITCH", *id, "Its name, its GUID, or lid:N")->required();
  on_run(show_command, session, [&session, id] { show_switch(session, *id); });

  auto wanted = std::make_shared<TableOptions>();
  CLI::App& table_command = add_command(
      switches, "table", "Where a switch sends each LID: the port wanted, and the one it holds where it is live",
      {"railweave switches table leaf-07", "railweave switches table leaf-07 --lid 1380"});
  table_command.add_option("SWITCH", wanted->id, "Its name, its GUID, or lid:N")->required();
  add_number_option(table_command, "--lid", wanted->lid, "Only this LID", {1, 65'535})->type_name("LID");
  add_limit_option(table_command, wanted->limit);
  on_run(table_command, session, [&session, wanted] {
    Target target = Target("/v1/switches").segment(wanted->id).path("/forwarding-table");
    if (wanted->lid) target.query("lid", std::to_string(*wanted->lid));
    print_list(session, target, table_view(), wanted->limit);
  });
  add_drain_commands(switches, session, {"switches", "switch", "SWITCH", "Its name, its GUID, or lid:N", "leaf-07"});
}

}  // namespace railweave::cli
