#include "scheduler/placement/shape_choice.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "scheduler/job/alternative_shapes.h"

namespace railweave::scheduler {

PlacementResult place_in_best_shape(Placer& placer, JobSpec& spec) {
  if (spec.shapes.empty()) return placer.place(spec);
  const std::vector<JobSpec> shapes = specs_by_shape(spec);
  std::vector<PlacementResult> results;
  std::vector<ShapeAnswer> answers;
  std::vector<std::size_t> placed;
  std::vector<ShapeMerit> merits;  // of `placed`
  for (const JobSpec& shape : shapes) {
    const PlacementResult& result = results.emplace_back(placer.place(shape));
    ShapeAnswer& answer = answers.emplace_back();
    answer.parallelism = shape.parallelism;
    answer.outcome = result.outcome;
    if (result.outcome != Outcome::placed) {
      answer.code = result.explanation.code;
      answer.reason = result.explanation.whole();
      continue;
    }
    placed.push_back(answers.size() - 1);
    ShapeMerit& merit = merits.emplace_back(std::numeric_limits<double>::infinity(), rank_count(shape.parallelism));
    if (const auto us = Placer::period_us(shape, result.placement)) {
      answer.unit_of_work_us = unit_of_work_us(shape, *us);
      merit.unit_us = unit_of_work_us(shape, *placer.priced_period_us(shape, result.placement));
    }
    if (result.placement.predicted) {
      answer.step_us = result.placement.predicted->step_us;
      answer.communication_us = result.placement.predicted->communication_us;
    }
  }
  const auto ranks_of = [&](const ShapeAnswer& answer) { return rank_count(answer.parallelism); };
  const auto smallest = static_cast<std::size_t>(std::ranges::min_element(answers, {}, ranks_of) - answers.begin());
  const std::size_t taken = placed.empty() ? smallest : placed[best_first(merits).front()];
  answers[taken].taken = !placed.empty();
  spec.parallelism = shapes[taken].parallelism;
  results[taken].shapes = std::move(answers);
  return std::move(results[taken]);
}

}  // namespace railweave::scheduler
