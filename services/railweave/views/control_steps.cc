#include "services/railweave/views/control_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {
namespace {

struct Sums {
  ControlStep shown;
  std::string last;  // when the newest of its jobs came
  std::uint64_t gpus = 0, gains = 0;
  std::set<std::string> parts;
};

void add(Sums& sums, const Json& job) {
  const Json& external = field(job, "external");
  if (text_of(job, "state") == "placed") {
    ++sums.shown.jobs;
    if (field(external, "part").is_string()) sums.parts.insert(text_of(external, "part"));
  }
  sums.last = std::max(sums.last, text_of(job, "submittedAt"));
  if (!field(external, "gainPermille").is_number()) return;
  const std::uint64_t gain = count_of(external, "gainPermille");
  const std::uint64_t gpus = count_of(job, "gpus");
  ++sums.shown.advised;
  sums.shown.better += gain > 0 ? 1 : 0;
  sums.gpus += gpus;
  sums.gains += gain * gpus;
}

}  // namespace

std::vector<ControlStep> control_steps(const Json& jobs) {
  std::map<std::pair<std::string, std::string>, Sums> by_step;
  for (const Json& job : jobs) {
    const Json& external = field(job, "external");
    if (!external.is_object()) continue;
    const std::string scheduler = text_of(external, "scheduler"),
                      step = field(external, "step").is_string() ? text_of(external, "step") : std::string();
    Sums& sums = by_step[{scheduler, step}];
    sums.shown.scheduler = scheduler;
    sums.shown.step = step;
    add(sums, job);
  }
  std::vector<Sums> sorted;
  for (auto& [key, sums] : by_step) {
    if (sums.gpus > 0) sums.shown.gain_permille = (sums.gains + sums.gpus / 2) / sums.gpus;
    sums.shown.parts.assign(sums.parts.begin(), sums.parts.end());
    if (sums.shown.jobs > 0 || sums.shown.advised > 0) sorted.push_back(std::move(sums));
  }
  std::ranges::stable_sort(sorted, [](const Sums& a, const Sums& b) {
    return a.shown.scheduler != b.shown.scheduler ? a.shown.scheduler < b.shown.scheduler : a.last > b.last;
  });
  std::vector<ControlStep> steps;
  for (Sums& sums : sorted) steps.push_back(std::move(sums.shown));
  return steps;
}

std::string control_step_text(const ControlStep& step) {
  const std::string advised = std::to_string(step.advised);
  std::string text = fmt::format("{}{}", step.jobs, step.jobs == 1 ? " job placed" : " jobs placed");
  constexpr std::size_t kPartsShown = 5;
  const std::string parts = step.parts.empty() ? "" : " (" + joined(step.parts, kPartsShown) + ")";
  if (!step.step.empty()) text = step.jobs > 0 ? "step " + step.step + parts + ", " + text : "was at step " + step.step;
  if (step.advised == 0) return text;
  if (step.better == 0) return text + "; elsewhere none of " + advised + " would have been faster";
  return fmt::format(
      "{}; elsewhere {} of {} would have been faster, {}.{}% less communication over all of them (predicted)", text,
      step.better, advised, step.gain_permille / 10, step.gain_permille % 10);
}

Json control_step_json(const ControlStep& step) {
  return {{"scheduler", step.scheduler},
          {"parts", step.parts},
          {"step", step.step.empty() ? Json(nullptr) : Json(step.step)},
          {"jobs", step.jobs},
          {"jobsAdvised", step.advised},
          {"jobsFasterElsewhere", step.better},
          {"gainPermille", step.advised == 0 ? Json(nullptr) : Json(step.gain_permille)}};
}

}  // namespace railweave::cli
