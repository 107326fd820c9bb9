#include "scheduler/job/alternative_shapes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace railweave::scheduler {

std::vector<JobSpec> specs_by_shape(const JobSpec& spec) {
  if (spec.shapes.empty()) return {spec};
  JobSpec one = spec;
  one.shapes.clear();
  std::vector<JobSpec> specs(spec.shapes.size(), one);
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i].parallelism = spec.shapes[i];
  return specs;
}

std::uint64_t fewest_ranks(const JobSpec& spec) { return rank_count(smallest_shape(spec).parallelism); }

JobSpec smallest_shape(const JobSpec& spec) {
  JobSpec smallest = spec;
  smallest.shapes.clear();
  if (!spec.shapes.empty()) smallest.parallelism = *std::ranges::min_element(spec.shapes, {}, rank_count);
  return smallest;
}

double unit_of_work_us(const JobSpec& spec, double period_us) {
  return spec.model ? period_us : period_us / static_cast<double>(spec.parallelism.data_ranks());
}

std::vector<std::size_t> best_first(std::span<const ShapeMerit> merits) {
  constexpr double kEqual = 0.01;
  std::vector<std::size_t> order(merits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (merits.empty()) return order;
  const bool unknown = std::ranges::any_of(merits, [](const ShapeMerit& one) { return std::isinf(one.unit_us); });
  const double best_us = std::ranges::min(merits, {}, &ShapeMerit::unit_us).unit_us;
  const auto rank = [&](std::size_t i) {
    const auto ranks = static_cast<double>(merits[i].ranks);
    if (unknown) return std::pair(0.0, -ranks);
    return std::pair(merits[i].unit_us <= best_us * (1 + kEqual) ? 0.0 : merits[i].unit_us, ranks);
  };
  std::ranges::stable_sort(order, {}, rank);
  return order;
}

}  // namespace railweave::scheduler
