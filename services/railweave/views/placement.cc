#include "services/railweave/views/placement.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "services/railweave/terminal/printable.h"
#include "services/railweave/views/tables.h"

namespace railweave::cli {
namespace {

std::string blocks(std::uint64_t count, std::uint64_t gpus) {
  if (gpus <= 1) return fmt::format("{}{}", count, count == 1 ? " GPU" : " GPUs");
  return fmt::format("{}{}{} GPUs", count, count == 1 ? " block of " : " blocks of ", gpus);
}

// Reason codes of the contract in words.
std::string reason_text(const std::string& reason) {
  if (reason == "drained") return "drained";
  if (reason == "excludedByJob") return "excluded by the job";
  if (reason == "groupInUse") return "in a group that other jobs use";
  if (reason == "cutOff") return "cut off from the rest";
  if (reason == "linkDown") return "a link is down";
  if (reason == "labelsDiffer") return "without the requested labels";
  if (reason == "notNamedByJob") return "not among the nodes that the job allows";
  if (reason == "noGpus") return "without GPUs";
  if (reason == "noNvlinkDomain") return "without NVLink";
  if (reason == "tainted") return "with a taint that the job does not tolerate";
  return reason;
}

std::string times(const Json& factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", factor.is_number() ? factor.get<double>() : 1.0);
  return text;
}

std::string gigabits(const Json& value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value.is_number() ? value.get<double>() : 0.0);
  return text;
}

std::string capital(std::string text) {
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

void print_levels(Output& output, const Json& explanation) {
  Table table({{"LEVEL"},
               {"GROUPS", Align::right},
               {"FIT NOW", Align::right},
               {"BLOCKS IN BEST", Align::right},
               {"IF EMPTY", Align::right}});
  for (const auto& level : list(explanation, "levels")) {
    table.add({text_of(level, "level"), text_of(level, "groups"), text_of(level, "groupsThatFit"),
               text_of(level, "bestBlocks"), text_of(level, "bestBlocksWhenEmpty")});
  }
  if (table.rows() > 0) output.text("\nWhat fits\n" + table.text(output.terminal(), 2));
}

void print_excluded(Output& output, const Json& explanation) {
  Table table({{"NODES", Align::right}, {"REASON"}, {"EXAMPLES"}});
  for (const auto& exclusion : list(explanation, "excluded")) {
    const bool is_tainted = field(exclusion, "taint").is_string();
    table.add({text_of(exclusion, "nodes"),
               reason_text(text_of(exclusion, "reason")) + (is_tainted ? ": " + text_of(exclusion, "taint") : ""),
               joined(list(exclusion, "examples"), output.is_wide() ? SIZE_MAX : 3)});
  }
  if (table.rows() > 0) output.text("\nExcluded nodes\n" + table.text(output.terminal(), 2));
}

void print_counterfactuals(Output& output, const Json& explanation) {
  Table table({{"CHANGE"}, {"OUTCOME"}});
  for (const auto& change : list(explanation, "counterfactuals")) {
    const std::string outcome = text_of(change, "outcome");
    table.add({text_of(change, "change"),
               outcome == "placed" ? Cell("placed", Tone::good) : Cell(outcome_text(outcome), Tone::warning)});
  }
  if (table.rows() > 0) output.text("\nWhat would change the outcome\n" + table.text(output.terminal(), 2));
}

}  // namespace

std::string milliseconds(const Json& value) {
  if (!value.is_number()) return "-";
  char text[32];
  const double ms = value.get<double>();
  std::snprintf(text, sizeof text, ms >= 100 ? "%.0f ms" : ms >= 1 ? "%.1f ms" : "%.3f ms", ms);
  return text;
}

std::string level_text(const std::string& level) {
  if (level == "nvlinkDomain") return "NVLink domain";
  return level == "leafGroup" ? "leaf group" : level;
}

std::string outcome_text(const std::string& outcome) {
  if (outcome == "placed") return "placed";
  if (outcome == "notNow") return "cannot be placed now";
  if (outcome == "never") return "can never be placed";
  return "unknown outcome '" + outcome + "'";
}

void add_placement(Sheet& sheet, const Json& placement) {
  sheet.add("Fits in", "one " + level_text(text_of(placement, "level")));
  if (!list(placement, "sites").empty()) sheet.add("Sites", joined(list(placement, "sites"), SIZE_MAX));
  sheet.add("Nodes", text_of(placement, "nodesUsed"));
  sheet.add("NVLink domains", text_of(placement, "domainsUsed"));
  sheet.add("Data rings on rails", text_of(placement, "dataRingsOnRails"));
  if (const Json& idle = field(placement, "idle"); idle.is_object()) {
    const auto gpus = count_of(idle, "gpus");
    const auto nodes = list(idle, "nodes").size();
    sheet.add("Held idle", fmt::format("{}{}{}{}", gpus, gpus == 1 ? " GPU on " : " GPUs on ", nodes,
                                       nodes == 1 ? " node" : " nodes"));
  }
  for (const Json& role : list(placement, "cpuRoles")) {
    const auto nodes = list(role, "nodes");
    std::vector<std::pair<std::string, std::size_t>> counts;
    for (const Json& node : nodes) {
      const std::string name = printable(node.get<std::string>());
      const auto known = std::ranges::find(counts, name, &std::pair<std::string, std::size_t>::first);
      if (known == counts.end()) {
        counts.emplace_back(name, 1);
      } else {
        ++known->second;
      }
    }
    constexpr std::size_t kShown = 6;
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, counts.size()); ++i) {
      text += fmt::format("{}{}{}", i == 0 ? "" : ", ", counts[i].first,
                          counts[i].second == 1 ? std::string() : fmt::format(" ({})", counts[i].second));
    }
    if (counts.size() > kShown) text += fmt::format(" and {} more nodes", counts.size() - kShown);
    sheet.add("CPU-only " + text_of(role, "name"), text);
  }
}

void add_prediction(Sheet& sheet, const Json& answer) {
  const Json& groups = field(answer, "groups");
  for (const FieldName name : std::initializer_list<FieldName>{"tensor", "context", "expert", "data", "pipeline"}) {
    const Json& group = field(groups, name);
    if (!group.is_object()) continue;
    std::string text = text_of(group, "count") + (count_of(group, "count") == 1 ? " group of " : " groups of ") +
                       text_of(group, "ranks") +
                       (count_of(group, "count") == 1 ? ", within one " : ", each within one ") +
                       level_text(text_of(group, "worst"));
    const std::uint64_t domains = count_of(group, "domains");
    if (domains > 1) text += fmt::format(", over {} NVLink domains", domains);
    sheet.add(capital(std::string(name.text())), text);
  }
  const Json& predicted = field(answer, "predicted");
  if (!predicted.is_object()) return;
  if (field(predicted, "stepMs").is_number()) {
    sheet.add("Predicted step", milliseconds(field(predicted, "stepMs")) + ", " +
                                    milliseconds(field(predicted, "exposedMs")) + " of it waiting for communication");
  }
  if (!field(predicted, "communicationMs").is_number()) {
    sheet.add("Communication", {"some ranks cannot reach each other over the network", Tone::bad});
    return;
  }
  std::string text = milliseconds(field(predicted, "communicationMs")) + " per step";
  std::string parts;
  for (const auto& [group, time] : field(predicted, "byGroup").items()) {
    parts += (parts.empty() ? " (" : ", ") + group + " " + milliseconds(time);
  }
  if (!parts.empty()) text += parts + ")";
  if (field(predicted, "assumed") == Json(true)) text += " (default model; for comparison only)";
  sheet.add("Communication", text);
}

void add_contention(Sheet& sheet, const Json& answer) {
  const Json& shared = field(answer, "withContention");
  if (!shared.is_object()) return;
  const bool routes = text_of(shared, "basis") == "routes";
  const std::string basis = routes ? ", " + routes_text(list(shared, "tables")) : ", on bundles of links";
  const Json& factor = field(shared, "slowdown");
  if (!field(shared, "communicationMs").is_number()) {
    sheet.add("Beside other jobs", {"some ranks cannot reach each other" + basis, Tone::bad});
    return;
  }
  const bool slowed = factor.is_number() && factor.get<double>() > 1.001;
  std::string text = milliseconds(field(shared, "communicationMs")) + " of communication per step";
  if (field(shared, "stepMs").is_number()) text += ", a step of " + milliseconds(field(shared, "stepMs"));
  text += slowed ? ": slowdown " + times(factor) : ": no slowdown";
  sheet.add("Beside other jobs", {text + basis, slowed ? Tone::warning : Tone::plain});
  if (const Json& link = field(shared, "mostContended"); slowed && link.is_object()) {
    std::string jobs;
    for (const auto& job : list(link, "jobs")) {
      jobs += (jobs.empty() ? "" : ", ") + text_of(job, "job") + " " + gigabits(field(job, "gbps"));
    }
    const auto crossing = count_of(link, "jobsCrossing"), named = std::uint64_t{list(link, "jobs").size()};
    if (crossing > named) jobs += fmt::format(" and {} more", crossing - named);
    sheet.add("Most contended", text_of(link, "link") + ", " + gigabits(field(link, "othersGbps")) + " of " +
                                    gigabits(field(link, "capacityGbps")) + " Gb/s: " + jobs);
  }
  std::string slows;
  for (const auto& job : list(shared, "slows")) {
    slows += (slows.empty() ? "" : ", ") + text_of(job, "job") + " " + times(field(job, "slowdown"));
  }
  if (!slows.empty()) sheet.add("Slows", {slows, Tone::warning});
}

void print_alternatives(Output& output, const Json& answer) {
  if (list(answer, "alternatives").empty()) return;
  Table table(
      {{"CHANGE"}, {"STEP", Align::right}, {"COMMUNICATION", Align::right}, {"BESIDE OTHER JOBS", Align::right}});
  const auto add = [&](const std::string& change, const Json& alone, const Json& shared) {
    table.add({change, milliseconds(field(alone, "stepMs")), milliseconds(field(alone, "communicationMs")),
               shared.is_object() ? milliseconds(field(shared, "communicationMs")) : "-"});
  };
  // All rows on one basis: that of withContention where it is known.
  const Json& own = field(answer, "withContention");
  add("as chosen", own.is_object() ? field(own, "alone") : field(answer, "predicted"), own);
  for (const auto& alternative : list(answer, "alternatives")) {
    add(text_of(alternative, "change"), alternative, field(alternative, "withContention"));
  }
  if (table.rows() > 0) output.text("\nAlternatives\n" + table.text(output.terminal(), 2));
}

namespace {

std::string shape_text(const Json& parallelism) {
  std::string text;
  struct Factor {
    const char* name;
    FieldName factor;
  };
  for (const auto& [name, factor] : {Factor{"TP", "tensor"}, Factor{"PP", "pipeline"}, Factor{"DP", "data"},
                                     Factor{"CP", "context"}, Factor{"EP", "expert"}}) {
    const std::uint64_t value = count_of(parallelism, factor);
    if (value > 1) text += fmt::format("{}{}{}", text.empty() ? "" : " ", name, value);
  }
  return text.empty() ? "one GPU" : text;
}

}  // namespace

const Json& parallelism_taken(const Json& answer, const Json& request) {
  for (const auto& shape : list(answer, "shapes")) {
    if (field(shape, "taken") == true) return field(shape, "parallelism");
  }
  return field(request, "parallelism");
}

void print_shapes(Output& output, const Json& answer) {
  if (list(answer, "shapes").empty()) return;
  Table table({{"SHAPE"},
               {"GPUS", Align::right},
               {"OUTCOME"},
               {"STEP", Align::right},
               {"COMMUNICATION", Align::right},
               {"PER UNIT OF WORK", Align::right},
               {"WHY NOT"}});
  for (const auto& shape : list(answer, "shapes")) {
    const bool placed = text_of(shape, "outcome") == "placed";
    const std::string outcome = field(shape, "taken") == true ? "taken" : placed ? "fits" : text_of(shape, "outcome");
    table.add({shape_text(field(shape, "parallelism")), text_of(shape, "gpus"), outcome,
               placed ? milliseconds(field(shape, "stepMs")) : "-",
               placed ? milliseconds(field(shape, "communicationMs")) : "-",
               placed ? milliseconds(field(shape, "workMs")) : "-", placed ? "" : text_of(shape, "reason")});
  }
  output.text("\nShapes\n" + table.text(output.terminal(), 2));
}

std::string expected_start_text(const Json& start) {
  if (!field(start, "at").is_string()) return "not known: " + text_of(start, "unknown");
  std::string text = time_of(start, "at");
  const std::uint64_t ends = list(start, "ends").size() + count_of(start, "otherEnds");
  if (ends == 0) return text;
  std::string names;
  for (const auto& end : list(start, "ends")) names += (names.empty() ? "" : ", ") + text_of(end, "job");
  if (const auto others = count_of(start, "otherEnds"); others > 0) {
    names += fmt::format("{}{}{}", names.empty() ? "" : " and ", others, others == 1 ? " other job" : " other jobs");
  }
  text += ", when " + names + (ends == 1 ? " has ended" : " have ended");
  if (const auto assumed = count_of(start, "assumedEnds"); assumed > 0) {
    text += fmt::format("; {} of these ends {} assumed", assumed, assumed == 1 ? "is" : "are");
  }
  return text;
}

void print_explanation(Output& output, const Json& answer) {
  const Json& explanation = field(answer, "explanation");
  const std::string outcome = text_of(answer, "outcome");
  const Json& reason = field(answer, "reason").is_string() ? field(answer, "reason") : field(answer, "detail");
  Sheet sheet;
  sheet.add("Outcome", {outcome_text(outcome), outcome == "never" ? Tone::bad : Tone::warning});
  if (reason.is_string()) sheet.add("Reason", text_of(reason));
  if (explanation.is_object() && count_of(explanation, "needed") > 0) {
    const auto block_gpus = count_of(explanation, "blockGpus");
    const auto needed = count_of(explanation, "needed");
    std::string needs = blocks(needed, block_gpus);
    if (block_gpus > 1) needs += fmt::format(", {} GPUs in all", needed * block_gpus);
    sheet.add("Needed", needs);
    sheet.add("Fits", blocks(count_of(explanation, "fits"), block_gpus) + " at level " + text_of(explanation, "level"));
    std::string gpus = text_of(explanation, "freeGpus") + " of " + text_of(explanation, "totalGpus") + " GPUs";
    if (const auto stranded = count_of(explanation, "strandedGpus"); stranded > 0) {
      gpus += fmt::format(", {} of them in fragments smaller than a block", stranded);
    }
    sheet.add("Free", gpus);
  }
  if (const Json& start = field(answer, "expectedStart"); start.is_object()) {
    sheet.add("If queued", expected_start_text(start));
  }
  output.text(sheet.text(output.terminal()));
  print_shapes(output, answer);
  print_levels(output, explanation);
  print_excluded(output, explanation);
  print_counterfactuals(output, explanation);
}

void note_warnings(Output& output, const Json& answer) {
  for (const auto& warning : list(answer, "warnings")) output.note("railweave: note: " + text_of(warning));
}

}  // namespace railweave::cli
