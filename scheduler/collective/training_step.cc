#include "scheduler/collective/training_step.h"

#include <algorithm>

namespace railweave::scheduler {

namespace {

double peak_flops(const GpuGeneration& generation, Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return generation.peak_fp32_tflops * 1e12;
    case Precision::bf16:
      return generation.peak_bf16_tflops * 1e12;
    case Precision::fp8:
      return generation.peak_fp8_tflops * 1e12;
  }
  return generation.peak_bf16_tflops * 1e12;
}

double step_tokens(const ModelSpec& model) { return static_cast<double>(model.global_batch) * model.sequence_length; }

}  // namespace

double step_flops(const ModelSpec& model) {
  double active = model.parameters;
  if (model.experts) {
    const MixtureOfExperts& e = *model.experts;
    active -= e.expert_parameters * (1 - std::min(1.0, static_cast<double>(e.experts_per_token) / e.experts));
  }
  const double attention = 12.0 * model.layers * model.hidden_size * model.sequence_length;
  return (6 * active + attention) * step_tokens(model);
}

StepTime training_step(const ModelSpec& model, const Parallelism& parallelism, const GpuGeneration& generation,
                       const std::array<double, kCommGroups>& communication_us) {
  StepTime step{.communication_us = communication_us};
  const double ranks = static_cast<double>(rank_count(parallelism));
  const double peak = ranks * peak_flops(generation, model.precision);
  const double work = step_flops(model) * (model.recompute ? 4.0 / 3 : 1);
  step.compute_us = work / (peak * generation.compute_efficiency) * 1e6;

  const std::array<double, kCommGroups> overlap{model.overlap_tensor,
                                                model.overlap_context,
                                                model.overlap_expert,
                                                model.overlap_data,
                                                model.overlap_data,
                                                model.overlap_pipeline,
                                                0};
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    step.exposed_us[g] = communication_us[g] - overlap[g] * std::min(communication_us[g], step.compute_us);
  }
  const auto exposed = [&](CommGroup group) { return step.exposed_us[static_cast<std::size_t>(group)]; };
  const double steady =
      step.compute_us + exposed(CommGroup::tensor) + exposed(CommGroup::context) + exposed(CommGroup::expert);
  step.bubble_us = steady * (parallelism.pipeline - 1) / (model.virtual_stages * micro_batches(model, parallelism));
  step.step_us = steady + step.bubble_us + exposed(CommGroup::pipeline) + exposed(CommGroup::data) +
                 exposed(CommGroup::expert_data) + exposed(CommGroup::roles);
  step.tokens_per_s = step_tokens(model) / step.step_us * 1e6;
  step.model_flops_utilization = step_flops(model) / (peak * step.step_us / 1e6);
  return step;
}

StepTime training_step(const ModelSpec& model, const Parallelism& parallelism, const GpuGeneration& generation,
                       const PlacementCost& communication) {
  std::array<double, kCommGroups> us{};
  for (std::size_t g = 0; g < kCommGroups; ++g) us[g] = communication.groups[g].time_us;
  return training_step(model, parallelism, generation, us);
}

}  // namespace railweave::scheduler
