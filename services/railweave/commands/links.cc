// railweave links list|show|drain|undrain.
#include "services/railweave/command_line/listing.h"
#include "services/railweave/commands/drains.h"

namespace railweave::cli {
namespace {

std::string device_text(const Json& end) {
  for (const char* name : {"switch", "node", "nvlinkDomain", "device"}) {
    if (!field(end, name).is_string()) continue;
    std::string text = text_of(end, name);
    if (name == std::string_view("node")) {
      text += field(end, "device").is_string() ? " " + text_of(end, "device") : " GPU " + text_of(end, "gpu");
    }
    return text;
  }
  return "-";
}

const Json& end_of(const Json& link, std::size_t which) {
  static const Json none;
  const Json& ends = list(link, "ends");
  return which < ends.size() ? ends[which] : none;
}

Cell link_state_cell(const Json& link) {
  if (flag_of(link, "drained")) return {"drained", Tone::warning};
  const std::string state = text_of(link, "state");
  if (state == "up") return {state, Tone::good};
  return {state, state == "down" ? Tone::bad : Tone::warning};
}

std::string speed_text(const Json& link) {
  if (text_of(link, "kind") != "infiniband" || text_of(link, "speed") == "-") return "-";
  return text_of(link, "width") + "x" + text_of(link, "speed");
}

ListView links_view() {
  return {{{"FROM", [](const Json& link) { return Cell(device_text(end_of(link, 0))); }},
           {"TO", [](const Json& link) { return Cell(device_text(end_of(link, 1))); }},
           text_column("KIND", "kind"),
           {"SPEED", [](const Json& link) { return Cell(speed_text(link)); }},
           number_column("Gb/s", "rateGbps"),
           {"STATE", link_state_cell},
           text_column("LINK", "id")},
          "no links"};
}

std::string percent(const Json& object, const char* name) {
  const Json& share = field(object, name);
  if (!share.is_number()) return "-";
  const auto tenths = static_cast<std::uint64_t>(share.get<double>() * 1000 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

void print_counters(Output& output, const Json& link) {
  Table table({{"COUNTERS OF"},
               {"SENT Gb/s", Align::right},
               {"RECEIVED", Align::right},
               {"USED", Align::right},
               {"AVERAGE", Align::right},
               {"PEAK", Align::right},
               {"SENT BYTES", Align::right},
               {"RECEIVED BYTES", Align::right},
               {"SYMBOL ERRORS", Align::right},
               {"RECOVERIES", Align::right},
               {"DOWNED", Align::right},
               {"DISCARDS", Align::right},
               {"READ"}});
  std::size_t which = 0;
  for (const auto& counters : list(link, "counters")) {
    const Json& end = end_of(link, which++);
    if (!counters.is_object()) continue;
    table.add({text_of(end, "port"), text_of(counters, "sentGbps"), text_of(counters, "receivedGbps"),
               percent(counters, "utilisation"), percent(counters, "averageUtilisation"),
               percent(counters, "peakUtilisation"), text_of(counters, "sentBytes"), text_of(counters, "receivedBytes"),
               text_of(counters, "symbolErrors"), text_of(counters, "linkRecoveries"), text_of(counters, "linkDowned"),
               text_of(counters, "discards"), time_of(counters, "readAt")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

void show_link(Session& session, const std::string& id) {
  Output& output = session.output;
  const Json link = session.service().get(Target("/v1/links").segment(id));
  if (output.is_document()) return output.document(link);
  Sheet sheet;
  sheet.add("Link", text_of(link, "id"));
  sheet.add("Kind", text_of(link, "kind"));
  sheet.add("Speed", speed_text(link));
  sheet.add("Rate", text_of(link, "rateGbps") + " Gb/s");
  if (field(link, "cableLengthM").is_number()) sheet.add("Cable", text_of(link, "cableLengthM") + " m");
  sheet.add("State", link_state_cell(link));
  for (std::size_t i = 0; i < 2; ++i) {
    const Json& end = end_of(link, i);
    sheet.add(i == 0 ? "From" : "To", device_text(end) + ", port " + text_of(end, "port"));
  }
  add_drain_line(sheet, link);
  if (field(link, "utilisation").is_number()) sheet.add("Used", percent(link, "utilisation"));
  for (const auto& alarm : list(link, "alarms")) sheet.add("Alarm", {text_of(alarm, "text"), Tone::bad});
  output.text(sheet.text(output.terminal()));
  print_counters(output, link);
}

struct LinkListOptions {
  std::string kind, sw, node;
  std::uint64_t limit = 0;
};

}  // namespace

void add_link_commands(CLI::App& root, Session& session) {
  CLI::App& links = add_noun(root, "links", "Cables between ports", "Fabric");
  links.alias("link");

  auto options = std::make_shared<LinkListOptions>();
  CLI::App& list_command = add_command(links, "list", "All links, or those of a switch or node",
                                       {"railweave links list --switch leaf-07", "railweave links list --kind nvlink"});
  list_command.add_option("--kind", options->kind, "Of this kind")->type_name("infiniband|ethernet|nvlink");
  list_command.add_option("--switch", options->sw, "With an end on this switch")->type_name("SWITCH");
  list_command.add_option("--node", options->node, "With an end on this node")->type_name("NODE");
  add_limit_option(list_command, options->limit);
  on_run(list_command, session, [&session, options] {
    Target target("/v1/links");
    target.filter("kind", options->kind).filter("switch", options->sw).filter("node", options->node);
    print_list(session, target, links_view(), options->limit);
  });

  auto id = std::make_shared<std::string>();
  CLI::App& show_command = add_command(links, "show", "One link, its counters, drain and alarms",
                                       {"railweave links show 0c42a10300280050/1--0c42a10300fe1200/4"});
  show_command.add_option("LINK", *id, "Its two ports, <guid>/<port>--<guid>/<port>")->required();
  on_run(show_command, session, [&session, id] { show_link(session, *id); });
  add_drain_commands(links, session,
                     {"links", "link", "LINK", "Its two ports, <guid>/<port>--<guid>/<port>",
                      "0c42a10300280050/1--0c42a10300fe1200/4"});
}

}  // namespace railweave::cli
