#include "services/railweave/views/subnet.h"

#include <fmt/core.h>

#include "services/railweave/views/tables.h"

namespace railweave::cli {
namespace {

std::string milliseconds(const Json& object, FieldName name) {
  const std::uint64_t tenths = (count_of(object, name) + 50) / 100;
  return fmt::format("{}.{}", tenths / 10, tenths % 10);
}

std::string links_text(const Json& live) {
  const auto unknown = count_of(live, "linksUnknown");
  if (is_unseen(live)) return fmt::format("{} links in unknown states", unknown);
  return text_of(live, "linksUp") + " links up, " + text_of(live, "linksDown") + " down, " +
         text_of(live, "linksDamped") + " held" + (unknown == 0 ? "" : fmt::format(", {} unknown", unknown));
}

void add_administration(Sheet& sheet, const Json& told) {
  std::string asked;
  for (const Json& one : field(told, "asked")) {
    const auto ended_badly = count_of(one, "refused") + count_of(one, "unsupported");
    asked += fmt::format("{}{} {}", asked.empty() ? ": " : ", ", text_of(one, "attribute"),
                         count_of(one, "answered") + ended_badly);
    if (ended_badly > 0) asked += fmt::format(" ({} refused)", ended_badly);
  }
  sheet.add("Clients", {fmt::format("{} requests, {} refused, {} dropped{}", text_of(told, "requests"),
                                    text_of(told, "refused"), text_of(told, "dropped"), asked),
                        count_of(told, "wrongKeys") == 0 ? Tone::plain : Tone::warning});
  if (count_of(told, "subscriptions") == 0 && count_of(told, "reports") == 0) return;
  sheet.add("Notices", fmt::format("subscriptions {}; reports {}, of which {} confirmed, {} given up",
                                   text_of(told, "subscriptions"), text_of(told, "reports"),
                                   text_of(told, "reportsConfirmed"), text_of(told, "reportsGivenUp")));
}

void add_engines(Sheet& sheet, const Json& engines) {
  if (!engines.is_object()) return;
  const std::string setting = text_of(engines, "setting");
  const bool is_best = setting.empty() || setting == "-";
  const std::string why_not = text_of(engines, "notTaken");
  const bool is_left = !why_not.empty() && why_not != "-";
  sheet.add("Engines", {"compared " + time_of(engines, "at") + ": " +
                            (is_best ? "none is clearly better than the one in use" : "better is " + setting) +
                            (is_left ? "; not taken by itself: " + why_not : ""),
                        is_best ? Tone::plain : Tone::warning});
}

void add_live(Sheet& sheet, const Json& live) {
  sheet.add("Phase", phase_cell(text_of(live, "phase")));
  if (text_of(live, "problem") != "-") sheet.add("Problem", {text_of(live, "problem"), Tone::warning});
  sheet.add("Port", text_of(live, "port"));
  sheet.add("Found",
            {text_of(live, "switches") + " switches, " + text_of(live, "adapters") + " adapters, " + links_text(live),
             is_unseen(live) ? Tone::bad : Tone::plain});
  if (is_unseen(live)) sheet.add("Last seen", {last_seen_text(live), Tone::bad});
  sheet.add("Discovered", field(live, "discoveredAt").is_string()
                              ? time_of(live, "discoveredAt") + " in " + milliseconds(live, "discoveryTookUs") +
                                    " ms with " + text_of(live, "discoveryMads") + " MADs"
                              : std::string("not yet"));
  const Json& sync = field(live, "sync");
  const auto differing = count_of(sync, "blocksDiffering");
  if (is_unseen(live)) {
    sheet.add("Tables", {"not known: what follows is as it was last seen", Tone::bad});
  }
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
    if (const auto changed = count_of(qos, "portsChanged"); changed != 0) {
      sheet.add("Changed", {fmt::format("tables of {}{} by another program: railweave alarms", changed,
                                        changed == 1 ? " port" : " ports"),
                            Tone::bad});
    }
    if (text_of(qos, "problem") != "-") sheet.add("Class problem", {text_of(qos, "problem"), Tone::warning});
  }
  if (const Json& lanes = field(live, "lanes"); lanes.is_object() && count_of(lanes, "needed") > 1) {
    const bool all = count_of(lanes, "used") >= count_of(lanes, "needed");
    sheet.add("Lanes", {text_of(lanes, "used") + " of " + text_of(lanes, "needed") +
                            (all ? ": packets need the service level of their path (railweave routes path)"
                                 : ": routes go up and then down; " + text_of(lanes, "problem")),
                        all ? Tone::plain : Tone::warning});
    if (const Json& old_levels = field(lanes, "oldLevels"); old_levels.is_object()) {
      sheet.add("Old levels", {"audited " + time_of(old_levels, "auditedAt") + ": " + text_of(old_levels, "text"),
                               count_of(old_levels, "loopLanes") > 0 ? Tone::bad : Tone::plain});
    }
  }
  add_engines(sheet, field(live, "engines"));
  if (const Json& keys = field(live, "managementKeys"); keys.is_object()) {
    const bool all = count_of(keys, "held") == count_of(keys, "ports");
    sheet.add("Keys", {"held by " + text_of(keys, "held") + " of " + text_of(keys, "ports") + " ports (" +
                           text_of(keys, "locked") + " locked by others, " + text_of(keys, "without") + " keep none, " +
                           text_of(keys, "silent") + " silent), generation " + text_of(keys, "generation") + ", read " +
                           time_of(keys, "seenAt"),
                       all ? Tone::plain : Tone::warning});
  }
  const Json& walk = field(live, "walk");
  if (walk.is_object()) {
    const auto lost = count_of(walk, "lostPairs");
    sheet.add("Walked", {fmt::format("{}: {} pairs, {} lost by the tables that switches hold", time_of(walk, "at"),
                                     text_of(walk, "pairs"), lost),
                         lost == 0 ? Tone::plain : Tone::bad});
  } else {
    sheet.add("Walked", std::string("not yet"));
  }
  sheet.add("Read back", field(sync, "readBackAt").is_string() ? time_of(sync, "readBackAt") : std::string("not yet"));
  if (const Json& told = field(live, "administration"); told.is_object()) add_administration(sheet, told);
}

void print_devices(Output& output, const Json& devices, const char* title) {
  Table table({{title}, {"GUID"}, {"SINCE"}, {"REASON"}});
  for (const auto& device : devices) {
    table.add({{text_of(device, "name"), Tone::bad},
               text_of(device, "guid"),
               time_of(device, "since"),
               text_of(device, "reason")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

// Times of a link that flaps, and what is done about it.
std::string use_text(const Json& link) {
  if (flag_of(link, "held")) return "held out of use";
  const std::string why = text_of(link, "usedFor");
  if (why == "lastPath") return "used: nothing else joins what it joins";
  if (why == "share") return "used: enough links of its switches are held";
  if (why == "routes") return "used: there are no routes without it";
  return flag_of(link, "up") ? "used" : "down";
}

void print_flapping(Output& output, const Json& live) {
  Table table({{"FLAPS"}, {"TIMES", Align::right}, {"SINCE"}, {"UNTIL"}, {"USE"}});
  for (const auto& link : list(live, "flapping")) {
    table.add({text_of(link, "name"),
               text_of(link, "flaps"),
               time_of(link, "since"),
               time_of(link, "until"),
               {use_text(link), flag_of(link, "held") ? Tone::warning : Tone::plain}});
  }
  if (table.rows() == 0) return;
  output.text("\n" + table.text(output.terminal()));
  output.text("\nPairs of end ports lost by what is held: " + text_of(live, "pairsLostByHeld") +
              "; railweave links release LINK uses a link again at once\n");
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

bool is_unseen(const Json& live) { return flag_of(live, "unseen"); }

std::string last_seen_text(const Json& live) {
  return field(live, "discoveredAt").is_string() ? time_of(live, "discoveredAt")
                                                 : std::string("never since the service started");
}

std::string old_levels_warning(const Json& live) {
  const Json& old_levels = field(field(live, "lanes"), "oldLevels");
  const std::string outcome = text_of(old_levels, "outcome");
  if (outcome != "creditLoops" && outcome != "unknownToSwitches") return {};
  return text_of(old_levels, "text") + " (audited " + time_of(old_levels, "auditedAt") + ")";
}

Cell subnet_phase_cell(const Json& subnet) {
  const Json& live = field(subnet, "live");
  return live.is_object() ? phase_cell(text_of(live, "phase")) : Cell("-", Tone::faint);
}

void print_compared_engines(Output& output, const Json& engines) {
  if (!engines.is_object()) return;
  Table table({{.title = "ENGINE", .name = true},
               {"LANES", Align::right},
               {"FULLEST LINK", Align::right},
               {"DETOURS", Align::right},
               {"COMPUTED IN", Align::right},
               {""}});
  for (const Json& one : list(engines, "candidates")) {
    const std::string problem = text_of(one, "problem");
    if (!problem.empty() && problem != "-") {
      table.add({text_of(one, "engine"), "-", "-", "-", "-", Cell(problem, Tone::faint)});
      continue;
    }
    const bool is_used = flag_of(one, "used");
    constexpr double kUsPerSecond = 1e6;
    table.add({text_of(one, "engine"), text_of(one, "lanes"), text_of(one, "maxLinkLoadHosts"),
               text_of(one, "nonminimalPairs"),
               is_used ? "-" : fmt::format("{:.2f} s", static_cast<double>(count_of(one, "tookUs")) / kUsPerSecond),
               is_used                  ? "in use"
               : flag_of(one, "better") ? "better"
                                        : ""});
  }
  output.text("\n" + table.text(output.terminal()));
}

void print_differences(Output& output, const Json& differences, std::uint64_t count) {
  Table table({{"DIFFERENCE"}, {"SUBJECT"}, {"TEXT"}});
  for (const auto& difference : differences) {
    table.add(
        {{text_of(difference, "kind"), Tone::warning}, text_of(difference, "subject"), text_of(difference, "text")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
  if (count > table.rows()) output.note(fmt::format("the first {} of {}", table.rows(), count));
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
  if (const Json& basis = field(subnet, "routeBasis"); basis.is_object()) {
    const std::uint64_t links = count_of(basis, "linksLeftOut"), switches = count_of(basis, "switchesLeftOut");
    const std::string spread =
        links + switches == 0 ? "" : fmt::format("spread again without {} links and {} switches, ", links, switches);
    sheet.add("Routes", fmt::format("{}{} next hops chosen for jobs, since {}", spread, count_of(basis, "hops"),
                                    text_of(basis, "since")));
  }
  if (const Json& engine = field(subnet, "routeEngine"); engine.is_object()) {
    sheet.add("Engine", fmt::format("{} on at most {} lanes, taken {}", text_of(engine, "engine"),
                                    text_of(engine, "lanes"), time_of(engine, "since")));
  }
  sheet.add("Spread", text_of(routing, "spread") + (why.empty() || why == "-" ? "" : ": " + why));
  if (const Json& tables = field(subnet, "tables"); tables.is_object()) {
    sheet.add("In force", {tables_text(tables), text_of(tables, "source") == "wanted" ? Tone::plain : Tone::warning});
  }
  if (live.is_object()) {
    add_live(sheet, live);
  } else {
    sheet.add("Phase", {"not live: the configuration of railweaved names no such subnet", Tone::faint});
  }
  output.text(sheet.text(output.terminal()));
  if (!live.is_object()) return;
  print_compared_engines(output, field(live, "engines"));
  print_devices(output, list(live, "isolated"), "DOES NOT ANSWER");
  print_devices(output, list(live, "countersUnread"), "COUNTERS NOT READ");
  print_flapping(output, live);
  print_differences(output, list(live, "differences"), count_of(live, "differenceCount"));
  print_repairs(output, live);
}

std::string subnet_line(const Json& subnet) {
  const Json& live = field(subnet, "live");
  if (!live.is_object()) return text_of(subnet, "id") + ": not live";
  const Json& sync = field(live, "sync");
  std::string line = text_of(subnet, "id") + ": " + text_of(subnet, "mode") + " mode, " + text_of(live, "phase") +
                     ", " + text_of(live, "switches") + " switches, " + links_text(live) +
                     (is_unseen(live) ? ", last seen " + last_seen_text(live)
                                      : ", " + text_of(sync, "blocksDiffering") + " of " +
                                            text_of(sync, "blocksWanted") + " blocks differ");
  const std::string problem = text_of(live, "problem");
  if (const std::string loops = old_levels_warning(live); !loops.empty()) line += "; " + loops;
  return problem.empty() || problem == "-" ? line : line + "; " + problem;
}

}  // namespace railweave::cli
