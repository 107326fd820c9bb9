#include "services/railweave/views/control_steps.h"

#include <map>

#include <fmt/core.h>

namespace railweave::cli {
namespace {

struct Sums {
  ControlStep shown;
  std::string last;  // when the job came whose step it is
  std::uint64_t gpus = 0, gains = 0;
};

void add(Sums& sums, const Json& job) {
  const Json& external = field(job, "external");
  sums.shown.jobs += text_of(job, "state") == "placed" ? 1 : 0;
  if (const std::string came = text_of(job, "submittedAt"); came >= sums.last) {
    sums.last = came;
    sums.shown.step = field(external, "step").is_string() ? text_of(external, "step") : std::string();
  }
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
  std::map<std::string, Sums> by_scheduler;
  for (const Json& job : jobs) {
    if (!field(job, "external").is_object()) continue;
    const std::string scheduler = text_of(field(job, "external"), "scheduler");
    Sums& sums = by_scheduler[scheduler];
    sums.shown.scheduler = scheduler;
    add(sums, job);
  }
  std::vector<ControlStep> steps;
  for (auto& [name, sums] : by_scheduler) {
    if (sums.gpus > 0) sums.shown.gain_permille = (sums.gains + sums.gpus / 2) / sums.gpus;
    steps.push_back(std::move(sums.shown));
  }
  return steps;
}

std::string control_step_text(const ControlStep& step) {
  const std::string advised = std::to_string(step.advised);
  std::string text = step.step.empty() ? "" : "step " + step.step + ", ";
  text += fmt::format("{}{}", step.jobs, step.jobs == 1 ? " job placed" : " jobs placed");
  if (step.advised == 0) return text;
  if (step.better == 0) return text + "; elsewhere none of " + advised + " would have been faster";
  return fmt::format(
      "{}; elsewhere {} of {} would have been faster, {}.{}% less communication over all of them (predicted)", text,
      step.better, advised, step.gain_permille / 10, step.gain_permille % 10);
}

Json control_step_json(const ControlStep& step) {
  return {{"scheduler", step.scheduler},
          {"step", step.step.empty() ? Json(nullptr) : Json(step.step)},
          {"jobs", step.jobs},
          {"jobsAdvised", step.advised},
          {"jobsFasterElsewhere", step.better},
          {"gainPermille", step.advised == 0 ? Json(nullptr) : Json(step.gain_permille)}};
}

}  // namespace railweave::cli
