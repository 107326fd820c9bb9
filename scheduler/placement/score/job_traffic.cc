#include "scheduler/placement/score/job_traffic.h"

#include <algorithm>
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

JobTraffic traffic_of_job(const JobSpec& spec, const PeerGpus& places, PeersOf of) {
  JobTraffic traffic = traffic_of_job(spec);
  if (!places) return traffic;
  for (const RolePeer& peer : spec.peers) {
    if (!peer.counted && of == PeersOf::counted) continue;
    const auto gpus = places(peer.job);
    if (gpus.empty()) continue;
    traffic.traffic.peers.push_back({peer, {gpus.begin(), gpus.end()}});
    traffic.traffic.roles.bytes += peer.bytes;
    traffic.traffic.roles.calls = 1;
  }
  return traffic;
}

const GpuGeneration& generation_of(const PlacementFabric& fabric, unsigned model) {
  const GpuGeneration* const known = fabric.gpu_models().generation(model);
  return known == nullptr ? *find_generation("H100") : *known;
}

const GpuGeneration& generation_of(const PlacementFabric& fabric) {
  const Hierarchy& hierarchy = fabric.hierarchy();
  return hierarchy.leaf_count() == 0 ? *find_generation("H100") : generation_of(fabric, fabric.gpu_models().of(0));
}

const GpuGeneration& generation_of(const PlacementFabric& fabric, std::span<const fabric::GpuId> gpus) {
  const GpuModels& models = fabric.gpu_models();
  if (models.count() < 2 || gpus.empty()) return generation_of(fabric);
  unsigned slowest = models.count() - 1;
  for (const fabric::GpuId gpu : gpus) slowest = std::min(slowest, models.of(fabric.leaf(gpu)));
  return generation_of(fabric, slowest);
}

Prediction prediction_of(const JobSpec& spec, const JobTraffic& traffic, const GpuGeneration& generation,
                         const PlacementCost& cost) {
  std::array<double, kCommGroups> us{};
  for (std::size_t g = 0; g < kCommGroups; ++g) us[g] = cost.groups[g].time_us;
  Prediction prediction = prediction_of(spec, traffic, generation, us);
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    if (us[g] > 0) prediction.algorithms[g] = cost.groups[g].algorithm;
  }
  if (prediction.reachable) {
    prediction.least_us = prediction.communication_us / kIntervalFactor;
    prediction.most_us = prediction.communication_us * kIntervalFactor;
  }
  return prediction;
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

double period_us(const JobSpec& spec, const Prediction& prediction) {
  if (prediction.step_us) return *prediction.step_us;
  const GpuGeneration* const generation = find_generation(prediction.generation);
  if (!prediction.assumed || generation == nullptr) return prediction.communication_us;
  return training_step(assumed_model(spec.parallelism), spec.parallelism, *generation, prediction.by_group_us).step_us;
}

}  // namespace railweave::scheduler
