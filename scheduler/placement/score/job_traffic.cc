#include "scheduler/placement/score/job_traffic.h"

#include <cmath>
#include <string>

#include "scheduler/collective/traffic.h"
#include "scheduler/collective/training_step.h"

namespace railweave::scheduler {

JobTraffic traffic_of_job(const JobSpec& spec) {
  if (spec.traffic) return {*spec.traffic, false};
  if (spec.model) return {traffic_of(*spec.model, spec.parallelism), false};
  return {traffic_of(assumed_model(spec.parallelism), spec.parallelism), true};
}

const GpuGeneration* generation_named(std::string_view label) {
  std::string upper(label);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  const GpuGeneration* best = nullptr;  // "GB200" names a B200, too: the longest name counts
  for (const GpuGeneration& generation : generations()) {
    if (upper.find(generation.name) == std::string::npos) continue;
    if (best == nullptr || generation.name.size() > best->name.size()) best = &generation;
  }
  return best;
}

const GpuGeneration& generation_of(const PlacementFabric& fabric) {
  const auto& topology = fabric.topology();
  for (const auto host : topology.hosts()) {
    if (topology.gpus(host).empty()) continue;
    for (const auto& label : topology.labels(host)) {
      if (topology.text(label.key) != "gpu") continue;
      if (const auto* named = generation_named(topology.text(label.value))) return *named;
    }
    if (const auto domain = topology.nvlink_domain(topology.gpus(host).front())) {
      return generation_by_nvlink(static_cast<double>(topology.rate_per_gpu(domain).value()));
    }
    break;
  }
  return *find_generation("H100");
}

const GpuGeneration& generation_for(const JobSpec& spec, const GpuGeneration& usual) {
  const auto wanted = spec.node_selector.find("gpu");
  const auto* named = wanted == spec.node_selector.end() ? nullptr : generation_named(wanted->second);
  return named == nullptr ? usual : *named;
}

Prediction prediction_of(const JobSpec& spec, const JobTraffic& traffic, const GpuGeneration& generation,
                         const PlacementCost& cost) {
  std::array<double, kCommGroups> us{};
  for (std::size_t g = 0; g < kCommGroups; ++g) us[g] = cost.groups[g].time_us;
  return prediction_of(spec, traffic, generation, us);
}

Prediction prediction_of(const JobSpec& spec, const JobTraffic& traffic, const GpuGeneration& generation,
                         const std::array<double, kCommGroups>& us) {
  Prediction prediction{.by_group_us = us, .assumed = traffic.assumed};
  prediction.generation = generation.name;
  for (const double group_us : us) prediction.communication_us += group_us;
  prediction.reachable = std::isfinite(prediction.communication_us);
  if (spec.model && prediction.reachable) {
    const StepTime step = training_step(*spec.model, spec.parallelism, generation, us);
    prediction.step_us = step.step_us;
    double exposed = 0;
    for (const double exposed_us : step.exposed_us) exposed += exposed_us;
    prediction.exposed_us = exposed;
  }
  return prediction;
}

double period_us(const JobSpec& spec, const JobTraffic& traffic, const GpuGeneration& generation,
                 const PlacementCost& alone) {
  if (spec.traffic && !spec.model) return alone.total_us;
  const ModelSpec model = traffic.assumed ? assumed_model(spec.parallelism) : *spec.model;
  return training_step(model, spec.parallelism, generation, alone).step_us;
}

}  // namespace railweave::scheduler
