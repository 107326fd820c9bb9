// railweave links list|show|history|report|release|drain|undrain.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "services/railweave/command_line/number_option.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/commands/counter_history.h"
#include "services/railweave/commands/drains.h"
#include "services/railweave/connection/rest_words.h"
#include "services/railweave/views/link_end.h"

namespace railweave::cli {
namespace {

const Json& end_of(const Json& link, std::size_t which) {
  static const Json none;
  const Json& ends = list(link, "ends");
  return which < ends.size() ? ends[which] : none;
}

Cell link_state_cell(const Json& link) {
  if (flag_of(link, "drained")) return {"drained", Tone::warning};
  const std::string state = text_of(link, "state");
  if (state == "up") return {state, Tone::good};
  if (state == "unknown") return {"unknown", Tone::bad};
  return {state, state == "down" ? Tone::bad : Tone::warning};
}

std::string speed_text(const Json& link) {
  if (text_of(link, "kind") != "infiniband" || text_of(link, "speed") == "-") return "-";
  return text_of(link, "width") + "x" + text_of(link, "speed");
}

ListView links_view() {
  return {{{"FROM", [](const Json& link) { return Cell(link_end_text(end_of(link, 0))); }},
           {"TO", [](const Json& link) { return Cell(link_end_text(end_of(link, 1))); }},
           text_column("KIND", "kind"),
           {"SPEED", [](const Json& link) { return Cell(speed_text(link)); }},
           number_column("Gb/s", "rateGbps"),
           {"STATE", link_state_cell},
           text_column("LINK", "name")},
          "no links"};
}

void print_counters(Output& output, const Json& link) {
  Table table({{"COUNTERS OF"},
               {"SENT Gb/s", Align::right},
               {"RECEIVED Gb/s", Align::right},
               {"UTILISATION", Align::right},
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
               percent_of(counters, "utilisation"), percent_of(counters, "averageUtilisation"),
               percent_of(counters, "peakUtilisation"), text_of(counters, "sentBytes"),
               text_of(counters, "receivedBytes"), text_of(counters, "symbolErrors"),
               text_of(counters, "linkRecoveries"), text_of(counters, "linkDowned"), text_of(counters, "discards"),
               time_of(counters, "readAt")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

void print_link(Output& output, const Json& link) {
  Sheet sheet;
  sheet.add("Link", text_of(link, "name"));
  if (text_of(link, "id") != text_of(link, "name")) sheet.add("Id", text_of(link, "id"));
  sheet.add("Kind", text_of(link, "kind"));
  sheet.add("Speed", speed_text(link));
  sheet.add("Rate", text_of(link, "rateGbps") + " Gb/s");
  if (field(link, "links").is_number()) {
    sheet.add("In parallel", text_of(link, "links") + ", " + text_of(link, "linksInUse") + " in use");
    sheet.add("Delay", text_of(link, "latencyUs") + " us one way");
  }
  if (field(link, "lengthKm").is_number()) sheet.add("Length", text_of(link, "lengthKm") + " km");
  if (field(link, "seenGbps").is_number()) sheet.add("Runs at", {text_of(link, "seenGbps") + " Gb/s", Tone::warning});
  if (field(link, "cableLengthM").is_number()) sheet.add("Cable", text_of(link, "cableLengthM") + " m");
  // Of a drained cable too: whether a new one is seen is what one waits for.
  const bool drained = flag_of(link, "drained");
  sheet.add("State", drained ? Cell{text_of(link, "state") + ", drained", Tone::warning} : link_state_cell(link));
  if (text_of(link, "state") == "unknown") {
    const bool was_seen = field(link, "seenAt").is_string();
    sheet.add("Last seen", {was_seen ? text_of(link, "lastState") + " at " + time_of(link, "seenAt")
                                     : "never since the service started; recorded as " + text_of(link, "lastState"),
                            Tone::bad});
  }
  if (const Json& flapping = field(link, "flapping"); flapping.is_object()) {
    sheet.add("Flaps", {text_of(flapping, "flaps") + " times since it counts, " +
                            (flag_of(flapping, "held") ? "held out of use" : "used") + ", calm at " +
                            time_of(flapping, "until") + " if it does not flap before",
                        Tone::warning});
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Json& end = end_of(link, i);
    const bool of_port = field(end, "port").is_string();
    sheet.add(i == 0 ? "From" : "To", link_end_text(end) + (of_port ? ", port " + text_of(end, "port") : ""));
  }
  add_drain_line(sheet, link);
  if (field(link, "utilisation").is_number()) sheet.add("Utilisation", percent_of(link, "utilisation"));
  for (const auto& alarm : list(link, "alarms")) sheet.add("Alarm", {in_commands(text_of(alarm, "text")), Tone::bad});
  output.text(sheet.text(output.terminal()));
  print_counters(output, link);
}

constexpr ResourceKind kLink{"/v1/links", "link", "LINK",
                             "Its two ports by name or by GUID: <device>/<port>--<device>/<port>; or its sites: "
                             "<site>--<site>",
                             print_link};

struct ReportOptions {
  std::string id, state, reason;
  std::optional<std::uint64_t> up;
};

void report(Session& session, const ReportOptions& options) {
  Json body = {{"state", options.state}};
  if (options.up) body["linksUp"] = *options.up;
  if (!options.reason.empty()) body["reason"] = options.reason;
  const Json link =
      session.service()
          .send(json_request(api::Method::post, Target("/v1/links").segment(options.id).path("/report"), body))
          .body;
  if (session.output.is_document()) return session.output.document(link);
  print_link(session.output, link);
}

void add_report_command(CLI::App& links, Session& session) {
  CLI::App& command = add_command(
      links, "report", "Say in what state a link between sites is",
      {"railweave links report east--west --state down --reason 'cut by a digger'",
       "railweave links report east--west --state degraded --up 1", "railweave links report east--west --state up"});
  auto options = std::make_shared<ReportOptions>();
  auto names = add_names(command, kLink);
  command.add_option("--state", options->state, "What it is seen to be")->required()->type_name("up|degraded|down");
  add_number_option(command, "--up", options->up, "Of a degraded one: how many of its parallel links are up",
                    {1, 65'536});
  command.add_option("--reason", options->reason, "Free text, kept with the event")->type_name("TEXT");
  on_run(command, session, [&session, options, names] {
    for_each_name(session, *names, [&](const std::string& id) {
      options->id = id;
      report(session, *options);
    });
  });
}

struct ReleaseOptions {
  std::string reason;
};

void release(Session& session, const std::string& id, const ReleaseOptions& options) {
  Json body = Json::object();
  if (!options.reason.empty()) body["reason"] = options.reason;
  session.service().send(json_request(api::Method::post, Target("/v1/links").segment(id).path("/release"), body));
  if (session.output.is_document()) return;
  Sheet sheet;
  sheet.add("Released", "link " + id + ": what it did is forgotten, and it is used while it is up");
  session.output.text(sheet.text(session.output.terminal()));
}

void add_release_command(CLI::App& links, Session& session) {
  CLI::App& command =
      add_command(links, "release", "Use a link again that is held out of use because it flaps",
                  {"railweave links release leaf-07/1--spine-02/4 --reason 'cable replaced, ticket 8841'"});
  auto options = std::make_shared<ReleaseOptions>();
  auto names = add_names(command, kLink);
  command.add_option("--reason", options->reason, "Free text, kept with the event")->type_name("TEXT");
  on_run(command, session, [&session, options, names] {
    for_each_name(session, *names, [&](const std::string& id) { release(session, id, *options); });
  });
}

}  // namespace

void add_link_commands(CLI::App& root, Session& session) {
  CLI::App& links = add_noun(root, "links", "Cables between ports, and links between sites", "Fabric");
  links.alias("link");
  add_list_command(links, session, "List links",
                   {"railweave links list --switch leaf-07", "railweave links list --kind wan"},
                   {"/v1/links",
                    links_view(),
                    {{"--kind", "kind", "infiniband|ethernet|nvlink|wan", "Only links of this kind"},
                     {"--switch", "switch", "SWITCH", "Only links with an end on this switch"},
                     {"--node", "node", "NODE", "Only links with an end on this node"}}});
  add_show_command(
      links, session, kLink, "Show a link, its counters, drain and alarms",
      {"railweave links show leaf-07/1--spine-02/4", "railweave links show 0c42a10300280050/1--0c42a10300fe1200/4"});
  add_history_command(links, session, {kLink.path, kLink.argument, kLink.meaning, "leaf-07/1--spine-02/4"});
  add_report_command(links, session);
  add_release_command(links, session);
  add_drain_commands(links, session, {"links", "link", kLink.argument, kLink.meaning, "leaf-07/1--spine-02/4"});
}

}  // namespace railweave::cli
