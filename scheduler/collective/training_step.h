// The time of one training step: computation, the pipeline's bubble, and what communication does not hide behind them.
//
//   compute   FLOPs / (ranks x peak x efficiency). FLOPs = (6 P + 12 layers h s) x tokens of a step, P the parameters a
//             token passes through (Chowdhery et al., "PaLM", 2022, appendix B); a third more with recomputation.
//   bubble    (PP - 1) / (virtual stages x M) of the steady state (Narayanan et al., SC 2021, section 2.2)
//   exposed   of each group: its time less what hides behind computation, at most overlap x min(time, compute)
//   step      (compute + exposed tensor, context, expert) (1 + bubble) + exposed pipeline, data, expert data, roles
#pragma once

#include <array>

#include "scheduler/collective/placement_cost.h"
#include "scheduler/collective/traffic.h"

namespace railweave::scheduler {

struct StepTime {
  double compute_us = 0;
  double bubble_us = 0;
  std::array<double, kCommGroups> communication_us{};  // as if alone
  std::array<double, kCommGroups> exposed_us{};        // not hidden
  double step_us = 0;
  double tokens_per_s = 0;
  double model_flops_utilization = 0;  // of the peak, over the whole step; recomputation does not count
};

double step_flops(const ModelSpec& model);  // without recomputation

// communication: by group, as placement_cost.h or phase_times.h predicts it. The model is a checked one.
StepTime training_step(const ModelSpec& model, const Parallelism& parallelism, const GpuGeneration& generation,
                       const std::array<double, kCommGroups>& communication_us);
StepTime training_step(const ModelSpec& model, const Parallelism& parallelism, const GpuGeneration& generation,
                       const PlacementCost& communication);

}  // namespace railweave::scheduler
