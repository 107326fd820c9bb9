// The predicted time of a job's communication where it is placed, per training step.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/collective/assumed_algorithm.h"
#include "scheduler/collective/placement_cost.h"

namespace railweave::scheduler {

struct Prediction {
  double communication_us = 0;                    // of all groups, one after the other
  std::array<double, kCommGroups> by_group_us{};  // by CommGroup
  std::optional<double> step_us, exposed_us;      // where the job says what it computes
  bool assumed = false;    // the job names neither a model nor traffic: the default model, for comparison only
  bool reachable = true;   // false: some of it has no route; times are infinite
  std::string generation;  // of the GPUs, as the constants are known for: "H100"
  std::array<AssumedAlgorithm, kCommGroups> algorithms{};  // by CommGroup
  double least_us = 0, most_us = 0;  // between which the communication is expected, 9 times of 10; 0: not said
  friend bool operator==(const Prediction&, const Prediction&) = default;
};

// A choice among places that were predicted on the routes in force, beside other jobs, and not on bundles of links alone.
struct RoutedChoice {
  std::uint64_t compared = 1;  // places, all on routes
  Prediction chosen;           // on routes
  // The place that bundles alone would have chosen, where that is another one.
  struct Other {
    Prediction on_bundles, on_routes;
    std::vector<fabric::GpuId> gpu_of_rank;
  };
  std::optional<Other> by_bundles;
};

// The prediction for another placement, or for a looser request.
struct Alternative {
  std::string change;  // "stages of a replica side by side", "another leafGroup"
  std::optional<double> step_us;
  double communication_us = 0;
  // Beside what other jobs send, on bundles; as above where the placer was not told of any.
  std::optional<double> shared_step_us;
  double shared_communication_us = 0;
  std::vector<fabric::GpuId> gpu_of_rank;
  bool alone = false;  // in a fabric without other jobs
};

}  // namespace railweave::scheduler
