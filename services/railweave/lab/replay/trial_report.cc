#include "services/railweave/lab/replay/trial_report.h"

#include <algorithm>
#include <cstdint>
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

void print_routes(Output& output, const TrialSettings& settings, const RouteTrials& trials) {
  constexpr double kPercent = 100;
  const PairedDifference model = paired(trials.by_model), flows = paired(trials.by_flows);
  const auto samples = static_cast<double>(std::max<std::uint64_t>(1, trials.all.samples));
  const double jobs = static_cast<double>(trials.all.jobs) / samples;
  const double hops = static_cast<double>(trials.all.hops) / samples;
  const double ms = trials.all.balance_us / 1000 / samples;
  if (output.is_document()) {
    const auto judged = [](const PairedDifference& one) {
      return Json{{"workPercent", kPercent * one.mean},
                  {"halfWidthPercent", kPercent * one.half_width},
                  {"excludesZero", one.excludes_zero()}};
    };
    return output.document({{"policy", settings.policy},
                            {"seeds", settings.seeds},
                            {"jobs", settings.jobs},
                            {"load", settings.load},
                            {"communication", settings.communication},
                            {"trace", kGeneratedTrace},
                            {"samples", trials.all.samples},
                            {"jobsOnTheNetwork", jobs},
                            {"hops", hops},
                            {"balanceMs", ms},
                            {"judges", {{"model", judged(model)}, {"flows", judged(flows)}}}});
  }
  Table table({{"steps a second"}, {"on followed routes", Align::right}, {"95% interval", Align::right}});
  for (const auto& [name, one] :
       {std::pair("by the model of shares", &model), std::pair("by flows on routes", &flows)}) {
    table.add({name, formatted("%+.2f%%", kPercent * one->mean), formatted("+-%.2f%%", kPercent * one->half_width)});
  }
  output.text(fmt::format(
      "Routes that follow running jobs, beside the engine's: jobs placed by {}, {} seeds of {} jobs, load {}, {} "
      "communication\n"
      "{}\n"
      "At {} hours {} jobs were on the network; {} next hops were chosen, in {}\n"
      "\n"
      "{}",
      settings.policy, settings.seeds, settings.jobs, formatted("%.2f", settings.load), settings.communication,
      kGeneratedTrace, trials.all.samples, formatted("%.1f", jobs), formatted("%.1f", hops), formatted("%.2f ms", ms),
      table.text(output.terminal())));
}

void print_classes(Output& output, const TrialSettings& settings, const RouteTrials& trials) {
  constexpr double kPercent = 100;
  const PairedDifference flows = paired(trials.by_flows), reversed = paired(trials.by_reversed);
  const auto weights = class_weights(settings.priority_classes);
  const auto samples = static_cast<double>(std::max<std::uint64_t>(1, trials.all.samples));
  const double jobs = static_cast<double>(trials.all.jobs) / samples;
  if (output.is_document()) {
    const auto judged = [](const PairedDifference& one) {
      return Json{{"workPercent", kPercent * one.mean},
                  {"halfWidthPercent", kPercent * one.half_width},
                  {"excludesZero", one.excludes_zero()}};
    };
    return output.document({{"policy", settings.policy},
                            {"seeds", settings.seeds},
                            {"jobs", settings.jobs},
                            {"load", settings.load},
                            {"communication", settings.communication},
                            {"trace", kGeneratedTrace},
                            {"samples", trials.all.samples},
                            {"jobsOnTheNetwork", jobs},
                            {"classWeights", weights},
                            {"judges", {{"flows", judged(flows)}, {"reversed", judged(reversed)}}}});
  }
  Table table(
      {{"steps a second, by flows on routes"}, {"beside one class", Align::right}, {"95% interval", Align::right}});
  for (const auto& [name, one] : {std::pair("the best class for the highest intensity", &flows),
                                  std::pair("the other way round (control)", &reversed)}) {
    table.add({name, formatted("%+.2f%%", kPercent * one->mean), formatted("+-%.2f%%", kPercent * one->half_width)});
  }
  output.text(fmt::format(
      "{} classes by GPU intensity, weights {}: jobs placed by {}, {} seeds of {} jobs, load {}, {} communication\n"
      "{}\n"
      "At {} hours {} jobs were on the network\n"
      "\n"
      "{}",
      settings.priority_classes, fmt::join(weights, ":"), settings.policy, settings.seeds, settings.jobs,
      formatted("%.2f", settings.load), settings.communication, kGeneratedTrace, trials.all.samples,
      formatted("%.1f", jobs), table.text(output.terminal())));
}

}  // namespace railweave::cli
