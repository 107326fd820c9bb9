#include "services/railweave/views/job.h"

#include <utility>

#include <fmt/core.h>

#include "services/railweave/connection/rest_words.h"
#include "services/railweave/terminal/age.h"
#include "services/railweave/views/placement.h"
#include "services/railweave/views/step_times.h"

namespace railweave::cli {
namespace {

std::string parallelism_text(const Json& parallelism) {
  std::string text;
  struct Factor {
    FieldName name;
    std::string_view label;
  };
  for (const auto& [name, label] : {Factor{"tensor", "TP"}, Factor{"pipeline", "PP"}, Factor{"data", "DP"},
                                    Factor{"context", "CP"}, Factor{"expert", "EP"}}) {
    const auto factor = count_of(parallelism, name);
    if (label == "EP" && text_of(parallelism, "expertsOver") == "data") {
      return fmt::format("{}, EP {} over DP", text, factor);
    }
    const bool always = label != "CP" && label != "EP";
    if (factor > 1 || (always && factor == 1)) {
      text += fmt::format("{}{} {}", text.empty() ? "" : " x ", label, factor);
    }
  }
  return text.empty() ? "-" : text;
}

void add_adopted(Sheet& sheet, const Json& adopted) {
  for (const auto& finding : list(adopted, "findings")) sheet.add("Finding", {text_of(finding), Tone::warning});
  const Json& order = field(adopted, "order");
  if (!order.is_object()) return;
  const std::string present = milliseconds(field(order, "predictedMs")) + " per " +
                              (text_of(order, "of") == "step" ? "step" : "step for communication");
  if (!field(order, "ranks").is_array()) return sheet.add("Rank order", present + ", no better one is known");
  sheet.add("Rank order", {present + ", " + milliseconds(field(order, "bestMs")) + " with the ranks in another order",
                           Tone::warning});
  std::string ranks;
  for (const auto& rank : list(order, "ranks")) ranks += (ranks.empty() ? "" : ",") + text_of(rank);
  sheet.add("Better order", ranks);
}

// What it exchanges with other roles of its gang.
void add_peers(Sheet& sheet, const Json& spec) {
  for (const Json& peer : list(spec, "peers")) {
    const bool sends = flag_of(peer, "sends");
    sheet.add(sends ? "Sends" : "Receives",
              fmt::format("{:.4g} GB per step {} {} ({}), {}", field(peer, "bytesPerStep").get<double>() / 1e9,
                          sends ? "to" : "from", text_of(peer, "role"), text_of(peer, "job"),
                          text_of(peer, "spread") == "byRank" ? "rank by rank" : "from each rank to each") +
                  (flag_of(peer, "counted") ? "" : "; counted there"));
  }
}

// What of that is in its guarantee.
std::string to_roles_text(const Json& guarantee, const Json& spec) {
  const Json& gbps = field(guarantee, "betweenRolesGbpsPerPort");
  if (gbps.is_number() && gbps.get<double>() > 0) {
    return "; " + text_of(gbps) + " Gb/s to each port of roles that it sends to";
  }
  for (const Json& peer : list(spec, "peers")) {
    if (flag_of(peer, "sends")) return "; nothing of what it sends to other roles";
  }
  return {};
}

void print_history(Output& output, const Json& job) {
  Table table({{"TIME"}, {"STATE"}, {"BY"}, {"REASON"}});
  for (const auto& change : list(job, "history")) {
    table.add({time_of(change, "time"), job_state_cell(change), text_of(change, "actor"), text_of(change, "reason")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

}  // namespace

Cell job_state_cell(const Json& job) {
  const std::string state = text_of(job, "state");
  if (flag_of(job, "damaged")) return {state + ", damaged", Tone::bad};
  if (state == "placed") return {state, Tone::good};
  if (state == "queued") return {state, Tone::warning};
  if (state == "lost") return {state, Tone::bad};
  return {state, Tone::faint};
}

std::string origin_text(const Json& external) {
  if (!external.is_object()) return {};
  return text_of(external, "scheduler") + " " + text_of(external, "id") +
         (field(external, "step").is_string() ? ", step " + text_of(external, "step") : std::string());
}

void print_job(Output& output, const Json& job) {
  constexpr std::size_t kNodesShown = 6;
  Sheet sheet;
  sheet.add("Job", text_of(job, "id"));
  sheet.add("Name", text_of(job, "name"));
  sheet.add("Tenant", text_of(job, "tenant"));
  if (const Json& external = field(field(job, "spec"), "external"); external.is_object()) {
    sheet.add("Comes from", origin_text(external));
    if (field(external, "advice").is_string()) sheet.add("Advice", text_of(external, "advice"));
  }
  sheet.add("State", job_state_cell(job));
  sheet.add("GPUs", text_of(job, "gpus") + ", " + parallelism_text(field(field(job, "spec"), "parallelism")));
  add_peers(sheet, field(job, "spec"));
  if (const Json& waits = field(job, "waits"); waits.is_object())
    sheet.add("Waiting", {text_of(waits, "reason"), Tone::warning});
  if (const Json& start = field(job, "expectedStart"); start.is_object())
    sheet.add("Expected start", expected_start_text(start));
  if (field(job, "notBefore").is_string()) sheet.add("Not before", time_of(job, "notBefore"));
  if (field(job, "damage").is_string()) sheet.add("Damage", {in_commands(text_of(job, "damage")), Tone::bad});
  if (field(job, "placement").is_object()) {
    add_placement(sheet, field(job, "placement"));
    add_prediction(sheet, job);
    add_contention(sheet, job);
    add_steps(sheet, field(job, "steps"));
    for (const auto& unmet : list(field(job, "placement"), "unmetPreferences")) {
      sheet.add("Not as preferred", {text_of(unmet), Tone::warning});
    }
    sheet.add("On nodes", joined(list(job, "nodeList"), output.is_wide() ? SIZE_MAX : kNodesShown));
  }
  if (const Json& left = list(field(job, "launcher"), "left"); !left.empty()) {
    const bool is_overdue = flag_of(field(job, "launcher"), "leftOverdue");
    sheet.add("Left GPUs", {joined(left, output.is_wide() ? SIZE_MAX : kNodesShown) +
                                ": given to no job until its launcher has freed them" +
                                (is_overdue ? ", which it did not in time (railweave jobs freed)" : ""),
                            is_overdue ? Tone::bad : Tone::warning});
  }
  add_adopted(sheet, field(job, "adopted"));
  if (const Json& guarantee = field(job, "guarantee"); guarantee.is_object()) {
    const std::string state = text_of(guarantee, "state");
    const bool is_at_risk = state == "atRisk";
    sheet.add("Guaranteed",
              {text_of(guarantee, "guaranteedGbpsPerPort") + " Gb/s per port, class " + text_of(guarantee, "class") +
                   to_roles_text(guarantee, field(job, "spec")) +
                   (is_at_risk           ? "; at risk: " + text_of(guarantee, "reason")
                    : state == "planned" ? "; planned: not seen in force everywhere (railweave guarantees list)"
                                         : ""),
               is_at_risk           ? Tone::bad
               : state == "planned" ? Tone::warning
                                    : Tone::plain});
  }
  sheet.add("Submitted", time_and_age_of(job, "submittedAt"));
  if (field(job, "startedAt").is_string()) sheet.add("Started", time_and_age_of(job, "startedAt"));
  if (!list(job, "earlierServiceLevels").empty()) {
    sheet.add("Service levels",
              {"its ranks may still send with " + joined(list(job, "earlierServiceLevels")), Tone::warning});
  }
  if (field(job, "checkpointedAt").is_string()) sheet.add("Checkpoint", time_and_age_of(job, "checkpointedAt"));
  if (field(job, "endedAt").is_string()) sheet.add("Ended", time_and_age_of(job, "endedAt"));
  output.text(sheet.text(output.terminal()));
  print_history(output, job);
}

}  // namespace railweave::cli
