#include "services/railweave/lab/replay/trial_report.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "services/railweave/lab/replay/generated_trace.h"
#include "services/railweave/lab/replay/job_classes.h"
#include "services/railweave/lab/replay/paired.h"
#include "services/railweave/terminal/formatted.h"
#include "services/railweave/terminal/json.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

namespace {

constexpr double kPercent = 100;

using Judgement = std::pair<const char*, PairedDifference>;

double per_sample(const RouteTrials& trials, double sum) {
  return sum / static_cast<double>(std::max<std::uint64_t>(1, trials.all.samples));
}

// What documents of both have; told: what else they have, before the judges, whose names are the keys.
Json document_of(const TrialSettings& settings, const RouteTrials& trials, const Json& told,
                 std::initializer_list<Judgement> judges) {
  Json document{{"policy", settings.policy},
                {"seeds", settings.seeds},
                {"jobs", settings.jobs},
                {"load", settings.load},
                {"communication", settings.communication},
                {"trace", kGeneratedTrace},
                {"samples", trials.all.samples},
                {"jobsOnTheNetwork", per_sample(trials, static_cast<double>(trials.all.jobs))}};
  document.update(told);
  for (const auto& [name, one] : judges) {
    document["judges"][name] = {{"workPercent", kPercent * one.mean},
                                {"halfWidthPercent", kPercent * one.half_width},
                                {"excludesZero", one.excludes_zero()}};
  }
  return document;
}

// What was tried, of which jobs, and what became of their steps.
std::string text_of(const TrialSettings& settings, const RouteTrials& trials, const std::string& tried,
                    const std::string& found, Table table, std::initializer_list<Judgement> judges,
                    const Terminal& terminal) {
  for (const auto& [name, one] : judges) {
    table.add({name, formatted("%+.2f%%", kPercent * one.mean), formatted("+-%.2f%%", kPercent * one.half_width)});
  }
  return fmt::format(
      "{}: jobs placed by {}, {} seeds of {} jobs, load {}, {} communication\n"
      "{}\n"
      "At {} hours {} jobs were on the network{}\n"
      "\n"
      "{}",
      tried, settings.policy, settings.seeds, settings.jobs, formatted("%.2f", settings.load), settings.communication,
      kGeneratedTrace, trials.all.samples, formatted("%.1f", per_sample(trials, static_cast<double>(trials.all.jobs))),
      found, table.text(terminal));
}

}  // namespace

void print_routes(Output& output, const TrialSettings& settings, const RouteTrials& trials) {
  const PairedDifference model = paired(trials.by_model), flows = paired(trials.by_flows);
  const double hops = per_sample(trials, static_cast<double>(trials.all.hops));
  const double ms = per_sample(trials, trials.all.balance_us / 1000);
  if (output.is_document()) {
    return output.document(
        document_of(settings, trials, {{"hops", hops}, {"balanceMs", ms}}, {{"model", model}, {"flows", flows}}));
  }
  output.text(
      text_of(settings, trials, "Routes that follow running jobs, beside the engine's",
              fmt::format("; {} next hops were chosen, in {}", formatted("%.1f", hops), formatted("%.2f ms", ms)),
              Table({{"steps a second"}, {"on followed routes", Align::right}, {"95% interval", Align::right}}),
              {{"by the model of shares", model}, {"by flows on routes", flows}}, output.terminal()));
}

void print_host_routes(Output& output, const TrialSettings& settings, const RouteTrials& trials) {
  const PairedDifference even = paired(trials.by_flows), followed = paired(trials.by_followed);
  const double hops = per_sample(trials, static_cast<double>(trials.all.hops));
  if (output.is_document()) {
    return output.document(document_of(settings, trials, {{"hops", hops}}, {{"even", even}, {"followed", followed}}));
  }
  output.text(text_of(
      settings, trials, "Routes for each host, beside switches that hash flows (one hash for each pair of ports)",
      fmt::format("; {} next hops were chosen for them", formatted("%.1f", hops)),
      Table({{"steps a second, by flows on routes"}, {"beside hashes", Align::right}, {"95% interval", Align::right}}),
      {{"routes spread evenly, as switches config makes them", even}, {"routes that follow running jobs", followed}},
      output.terminal()));
}

void print_classes(Output& output, const TrialSettings& settings, const RouteTrials& trials) {
  const PairedDifference flows = paired(trials.by_flows), reversed = paired(trials.by_reversed);
  const auto weights = class_weights(settings.priority_classes);
  if (output.is_document()) {
    return output.document(
        document_of(settings, trials, {{"classWeights", weights}}, {{"flows", flows}, {"reversed", reversed}}));
  }
  Table table(
      {{"steps a second, by flows on routes"}, {"beside one class", Align::right}, {"95% interval", Align::right}});
  output.text(text_of(
      settings, trials,
      fmt::format("{} classes by GPU intensity, weights {}", settings.priority_classes, fmt::join(weights, ":")), "",
      std::move(table),
      {{"the best class for the highest intensity", flows}, {"the other way round (control)", reversed}},
      output.terminal()));
}

}  // namespace railweave::cli
