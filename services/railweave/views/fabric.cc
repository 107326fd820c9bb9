#include "services/railweave/views/fabric.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include <fmt/core.h>

#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

constexpr std::array<std::string_view, 3> kSeverities{"info", "warning", "error"};

// Position in kSeverities; 3 for "never" and unknown ones.
std::size_t rank_of(std::string_view severity) {
  return static_cast<std::size_t>(std::ranges::find(kSeverities, severity) - kSeverities.begin());
}

std::string counted(const Json& fabric, FieldName name) { return std::to_string(count_of(fabric, name)); }

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string rails_text(const Json& fabric) {
  std::string text = counted(fabric, "rails");
  if (count_of(fabric, "rails") == 0 || !flag_of(fabric, "railsInferred")) return text;
  const Json& confidence = field(fabric, "railConfidence");
  if (!confidence.is_number()) return text + ", inferred from the cabling";
  char share[48];
  std::snprintf(share, sizeof share, ", inferred from the cabling (confidence %.1f%%)", confidence.get<double>() * 100);
  return text + share;
}

}  // namespace

void print_fabric_summary(Output& output, const Json& fabric) {
  Sheet sheet;
  if (field(fabric, "source").is_string()) {
    sheet.add("Source", text_of(fabric, "source"));
    sheet.add("Version", text_of(fabric, "version") + ", SHA-256 " + text_of(fabric, "digest").substr(0, 12));
  }
  std::string hosts = counted(fabric, "hosts");
  if (const auto racks = count_of(fabric, "racks"); racks > 0) hosts += fmt::format(" in {} racks", racks);
  sheet.add("Hosts", hosts);
  std::string gpus = counted(fabric, "gpus");
  if (field(fabric, "freeGpus").is_number()) gpus += ", " + counted(fabric, "freeGpus") + " free";
  if (count_of(fabric, "sites") > 0) sheet.add("Sites", counted(fabric, "sites"));
  if (const auto domains = count_of(fabric, "nvlinkDomains"); domains > 0) {
    gpus += fmt::format(", in {} NVLink domains", domains);
  }
  sheet.add("GPUs", gpus);
  sheet.add("Switches", counted(fabric, "switches") + ", " + counted(fabric, "leaves") + " of them leaves, in " +
                            counted(fabric, "tiers") + " tiers");
  sheet.add("Host ports", counted(fabric, "hostPorts"));
  sheet.add("Links",
            counted(fabric, "hostLinks") + " to hosts, " + counted(fabric, "interSwitchLinks") + " between switches");
  sheet.add("Rails", rails_text(fabric));
  const auto short_of_rail = count_of(fabric, "hostsShortOfRail");
  sheet.add("Missing a rail",
            {fmt::format("{} hosts", short_of_rail), short_of_rail > 0 ? Tone::warning : Tone::plain});
  sheet.add("Subnets", counted(fabric, "subnets"));
  const auto components = count_of(fabric, "components");
  sheet.add("Components", {std::to_string(components), components > 1 ? Tone::warning : Tone::plain});
  sheet.add("Aggregation nodes", counted(fabric, "aggregationNodes"));
  if (count_of(fabric, "routers") > 0) sheet.add("Routers", counted(fabric, "routers"));
  output.text(sheet.text(output.terminal()));
}

void print_findings(Output& output, const Json& findings) {
  constexpr std::size_t kObjectsShown = 3;
  Table table({{.title = "SEVERITY"}, {.title = "CODE"}, {.title = "MESSAGE", .beneath = true}, {.title = "OBJECTS"}});
  std::array<std::size_t, 4> counts{};
  for (const auto& finding : findings) {
    const std::string severity = text_of(finding, "severity");
    ++counts[rank_of(severity)];
    table.add({{severity, tone_of_severity(severity)},
               text_of(finding, "code"),
               text_of(finding, "message"),
               joined(list(finding, "objects"), output.is_wide() ? SIZE_MAX : kObjectsShown)});
  }
  if (table.rows() > 0) output.text(table.text(output.terminal()) + "\n");
  output.text(counted(counts[2], "error") + ", " + counted(counts[1], "warning") + ", " + counted(counts[0], "note") +
              "\n");
}

void add_fail_on_option(CLI::App& command, std::string& severity) {
  add_choice_option(command, "--fail-on", severity, "Exit with code 10 on a finding of this severity or a higher one",
                    "info|warning|error|never");
}

ExitCode exit_code_of_findings(const Json& findings, const std::string& fail_on) {
  const std::size_t least = rank_of(fail_on);
  for (const auto& finding : findings) {
    const std::size_t rank = rank_of(text_of(finding, "severity"));
    if (rank < kSeverities.size() && rank >= least) return ExitCode::findings;
  }
  return ExitCode::ok;
}

}  // namespace railweave::cli
