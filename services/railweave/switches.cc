// railweave switches list|show.
#include "services/railweave/listing.h"

namespace railweave::cli {
namespace {

ListView view() {
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

void show(Session& session, const std::string& id) {
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

struct ListOptions {
  std::string tier, subnet;
  std::uint64_t limit = 0;
};

}  // namespace

void add_switch_commands(CLI::App& root, Session& session) {
  CLI::App& switches = add_noun(root, "switches", "Switches and their ports", "Fabric");
  switches.alias("switch");

  auto options = std::make_shared<ListOptions>();
  CLI::App& list_command =
      add_command(switches, "list", "All switches, or those of a tier or subnet",
                  {"railweave switches list --tier 0", "railweave switches list --subnet compute"});
  list_command.add_option("--tier", options->tier, "On this tier; 0 is nearest to the hosts")->type_name("N");
  list_command.add_option("--subnet", options->subnet, "In this subnet")->type_name("NAME");
  add_limit_option(list_command, options->limit);
  on_run(list_command, session, [&session, options] {
    Target target("/v1/switches");
    target.filter("tier", options->tier).filter("subnet", options->subnet);
    print_list(session, target, view(), options->limit);
  });

  auto id = std::make_shared<std::string>();
  CLI::App& show_command =
      add_command(switches, "show", "One switch and what its cabled ports lead to (-o wide: all ports)",
                  {"railweave switches show leaf-07", "railweave switches show lid:1380"});
  show_command.add_option("SWITCH", *id, "Its name, its GUID, or lid:N")->required();
  on_run(show_command, session, [&session, id] { show(session, *id); });
}

}  // namespace railweave::cli
