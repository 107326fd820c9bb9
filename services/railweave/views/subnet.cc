#include "services/railweave/views/subnet.h"

namespace railweave::cli {
namespace {

std::string milliseconds(const Json& object, const char* name) {
  const std::uint64_t tenths = (count_of(object, name) + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

void add_live(Sheet& sheet, const Json& live) {
  sheet.add("Phase", phase_cell(text_of(live, "phase")));
  if (text_of(live, "problem") != "-") sheet.add("Problem", {text_of(live, "problem"), Tone::warning});
  sheet.add("Port", text_of(live, "port"));
  sheet.add("Found", text_of(live, "switches") + " switches, " + text_of(live, "adapters") + " adapters, " +
                         text_of(live, "linksUp") + " links up, " + text_of(live, "linksDown") + " down, " +
                         text_of(live, "linksDamped") + " damped");
  sheet.add("Discovered", field(live, "discoveredAt").is_string()
                              ? time_of(live, "discoveredAt") + " in " + milliseconds(live, "discoveryTookUs") +
                                    " ms with " + text_of(live, "discoveryMads") + " MADs"
                              : std::string("not yet"));
  const Json& sync = field(live, "sync");
  const auto differing = count_of(sync, "blocksDiffering");
  sheet.add("Blocks", {text_of(sync, "blocksDiffering") + " of " + text_of(sync, "blocksWanted") + " differ",
                       differing == 0 ? Tone::plain : Tone::warning});
  sheet.add("Tables", "wanted " + text_of(sync, "wantedDigest") + ", applied " + text_of(sync, "appliedDigest"));
  const Json& qos = field(live, "qos");
  if (qos.is_object()) {
    const auto pending = count_of(qos, "portsPending");
    const std::string what = text_of(qos, "classes") + " classes, " + text_of(qos, "partitions") + " partitions";
    const bool by_opensm = flag_of(qos, "byOpensm");
    if (field(qos, "filesWrittenAt").is_string() && !by_opensm) {
      sheet.add("Classes", {what + " offered to OpenSM, which must read them", Tone::warning});
      sheet.add("OpenSM files", time_of(qos, "filesWrittenAt"));
    } else {
      sheet.add("Classes", {what + (by_opensm ? " written by OpenSM on " : " on ") + text_of(qos, "portsProgrammed") +
                                " ports, " + text_of(qos, "portsPending") + " pending",
                            pending == 0 ? Tone::plain : Tone::warning});
    }
    if (text_of(qos, "problem") != "-") sheet.add("Class problem", {text_of(qos, "problem"), Tone::warning});
  }
  const Json& walk = field(live, "walk");
  if (walk.is_object()) {
    const auto lost = count_of(walk, "lostPairs");
    sheet.add("Walked", {time_of(walk, "at") + ": " + text_of(walk, "pairs") + " pairs, " + std::to_string(lost) +
                             " lost by the tables that switches hold",
                         lost == 0 ? Tone::plain : Tone::bad});
  } else {
    sheet.add("Walked", std::string("not yet"));
  }
  sheet.add("Read back", field(sync, "readBackAt").is_string() ? time_of(sync, "readBackAt") : std::string("not yet"));
}

void print_isolated(Output& output, const Json& live) {
  Table table({{"DOES NOT ANSWER"}, {"GUID"}, {"SINCE"}, {"REASON"}});
  for (const auto& device : list(live, "isolated")) {
    table.add({{text_of(device, "name"), Tone::bad},
               text_of(device, "guid"),
               time_of(device, "since"),
               text_of(device, "reason")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

void print_repairs(Output& output, const Json& live) {
  Table table({{"REPAIRED"},
               {"NOTICED", Align::right},
               {"SWEPT", Align::right},
               {"COMPUTED", Align::right},
               {"WRITTEN", Align::right},
               {"ENTRIES", Align::right},
               {"BLOCKS", Align::right},
               {"UNREACHABLE", Align::right},
               {"CAUSE"}});
  for (const auto& repair : list(live, "repairs")) {
    table.add({time_of(repair, "at"), milliseconds(repair, "noticedUs"), milliseconds(repair, "sweptUs"),
               milliseconds(repair, "computedUs"), milliseconds(repair, "programmedUs"),
               text_of(repair, "changedEntries"), text_of(repair, "blocks"), text_of(repair, "unreachablePairs"),
               text_of(repair, "cause")});
  }
  if (table.rows() == 0) return;
  output.text("\n" + table.text(output.terminal()));
  output.text("\nDurations in ms since the first report; " + text_of(live, "repairsTotal") +
              (text_of(live, "repairsTotal") == "1" ? " repair" : " repairs") + " since the service started\n");
}

}  // namespace

Cell phase_cell(const std::string& phase) {
  if (phase == "synced") return {phase, Tone::good};
  if (phase == "offline" || phase == "blind") return {phase, Tone::bad};
  return {phase, phase == "watching" || phase == "discovering" ? Tone::plain : Tone::warning};
}

Cell subnet_phase_cell(const Json& subnet) {
  const Json& live = field(subnet, "live");
  return live.is_object() ? phase_cell(text_of(live, "phase")) : Cell("-", Tone::faint);
}

void print_differences(Output& output, const Json& differences, std::uint64_t count) {
  Table table({{"DIFFERENCE"}, {"SUBJECT"}, {"TEXT"}});
  for (const auto& difference : differences) {
    table.add(
        {{text_of(difference, "kind"), Tone::warning}, text_of(difference, "subject"), text_of(difference, "text")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
  if (count > table.rows()) output.note("the first " + std::to_string(table.rows()) + " of " + std::to_string(count));
}

void print_subnet(Output& output, const Json& subnet) {
  const Json& live = field(subnet, "live");
  Sheet sheet;
  sheet.add("Subnet", text_of(subnet, "id"));
  sheet.add("Accepted", flag_of(subnet, "accepted")
                            ? text_of(subnet, "switches") + " switches, " + text_of(subnet, "hostPorts") + " host ports"
                            : std::string("no (railweave fabric discover --accept accepts it)"));
  const std::string reason = text_of(subnet, "modeReason");
  sheet.add("Mode", text_of(subnet, "mode") + (reason.empty() || reason == "-" ? "" : ": " + reason));
  const Json& routing = field(subnet, "routing");
  const std::string why = text_of(routing, "reason");
  sheet.add("Spread", text_of(routing, "spread") + (why.empty() || why == "-" ? "" : ": " + why));
  if (live.is_object()) {
    add_live(sheet, live);
  } else {
    sheet.add("Phase", {"not live: the configuration of railweaved names no such subnet", Tone::faint});
  }
  output.text(sheet.text(output.terminal()));
  if (!live.is_object()) return;
  print_isolated(output, live);
  print_differences(output, list(live, "differences"), count_of(live, "differenceCount"));
  print_repairs(output, live);
}

std::string subnet_line(const Json& subnet) {
  const Json& live = field(subnet, "live");
  if (!live.is_object()) return text_of(subnet, "id") + ": not live";
  const Json& sync = field(live, "sync");
  std::string line = text_of(subnet, "id") + ": " + text_of(subnet, "mode") + " mode, " + text_of(live, "phase") +
                     ", " + text_of(live, "switches") + " switches, " + text_of(live, "linksUp") + " links up, " +
                     text_of(live, "linksDown") + " down, " + text_of(sync, "blocksDiffering") + " of " +
                     text_of(sync, "blocksWanted") + " blocks differ";
  const std::string problem = text_of(live, "problem");
  return problem.empty() || problem == "-" ? line : line + "; " + problem;
}

}  // namespace railweave::cli
