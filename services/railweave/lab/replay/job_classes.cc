#include "services/railweave/lab/replay/job_classes.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>

#include "fabric/base/check.h"
#include "fabric/qos/arbitration.h"
#include "scheduler/collective/traffic.h"
#include "scheduler/collective/training_step.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {

double gpu_intensity(const scheduler::JobSpec& spec, std::span<const scheduler::PortFlow> flows,
                     const fabric::PathWalker& walker, std::span<const double> capacity_mbps) {
  std::map<std::uint32_t, double> bytes;  // by directed link
  std::vector<fabric::DirectedLink> path;
  for (const auto& flow : flows) {
    path.clear();
    if (!walker.append(flow.ports, path)) continue;
    for (const auto link : path) bytes[link] += flow.bytes;
  }
  double slowest_us = 0;
  for (const auto& [link, sent] : bytes) {
    if (capacity_mbps[link] > 0) slowest_us = std::max(slowest_us, sent * 8 / capacity_mbps[link]);
  }
  if (!(slowest_us > 0)) return 0;
  return scheduler::step_flops(spec.model ? *spec.model : scheduler::assumed_model(spec.parallelism)) / slowest_us;
}

std::vector<std::uint8_t> job_classes(std::span<const double> intensities, unsigned classes) {
  RAILWEAVE_CHECK(classes > 0 && classes <= kMaxJobClasses, "jobs have one to eight classes");
  std::vector<std::size_t> order(intensities.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t job) { return intensities[job]; });
  std::vector<std::uint8_t> class_of(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    class_of[order[rank]] = static_cast<std::uint8_t>(rank * classes / order.size());
  }
  return class_of;
}

std::vector<double> class_weights(unsigned classes) {
  constexpr std::uint32_t kAll = 1000;
  constexpr std::size_t kEntries = 16;
  const std::uint32_t parts = (1U << classes) - 1;
  std::vector<fabric::LaneDemand> lanes;
  for (unsigned c = 0; c < classes; ++c) {
    lanes.push_back(
        {.vl = static_cast<std::uint8_t>(c), .requested_permille = kAll * (1U << (classes - 1 - c)) / parts});
  }
  const auto table = value_or_fail(fabric::assign_weights(lanes, {.entries = kEntries}));
  std::vector<double> weights(classes, 0);
  for (const auto& entry : table.low) weights.at(entry.vl) += entry.weight;
  return weights;
}

}  // namespace railweave::cli
