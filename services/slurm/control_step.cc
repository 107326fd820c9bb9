#include "services/slurm/control_step.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

namespace railweave::slurm {
namespace {

constexpr std::array<std::pair<std::string_view, Step>, 3> kSteps{
    {{"observe", Step::observe}, {"order", Step::order}, {"place", Step::place}}};

}  // namespace

std::string_view to_string(Step step) {
  return std::ranges::find(kSteps, step, &std::pair<std::string_view, Step>::second)->first;
}

std::optional<Step> step_of(std::string_view text) {
  const auto found = std::ranges::find(kSteps, text, &std::pair<std::string_view, Step>::first);
  return found == kSteps.end() ? std::nullopt : std::optional(found->second);
}

Step Steps::of(std::string_view names) const {
  std::optional<Step> least;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    const auto own = partitions.find(std::string(names.substr(0, end)));
    const Step step = own == partitions.end() ? cluster : own->second;
    least = least ? std::min(*least, step) : step;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return least.value_or(cluster);
}

Result<void> add_partition_step(std::string_view text, Steps& steps) {
  const std::size_t at = text.find('=');
  const auto step = at == std::string_view::npos ? std::nullopt : step_of(text.substr(at + 1));
  if (at == 0 || !step) {
    return fail(ErrorKind::invalid, "slurm.partitionStep", fmt::format("'{}' is not the step of a partition", text),
                "--partition-step", "as in debug=observe; steps are observe, order and place");
  }
  steps.partitions[std::string(text.substr(0, at))] = *step;
  return {};
}

}  // namespace railweave::slurm
