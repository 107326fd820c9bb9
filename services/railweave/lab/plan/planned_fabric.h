// A fabric that could be built for a job: what it consists of, what that costs, and how long a step of the job takes on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "scheduler/job/job_spec.h"
#include "services/railweave/lab/plan/prices.h"

namespace railweave::cli {

struct FabricShape {
  std::string kind;             // of fabric/generate
  std::uint64_t tiers = 2;      // 1: rail-only
  double oversubscription = 1;  // of leaves
  double adapters_per_gpu = 1;
  std::uint64_t domain = 8;  // GPUs that NVLink joins
  std::string speed = "NDR";
  std::uint64_t radix = 64;

  [[nodiscard]] std::string name() const;  // "rail-optimized, 2 tiers, 1:1, 8 rails, NVL8"
  [[nodiscard]] std::uint64_t gpus_per_host() const;
  [[nodiscard]] std::uint64_t rails() const;  // adapters of a host; 0: no whole number
};

// Every combination that differs and makes sense.
struct ShapeChoices {
  std::vector<std::string> kinds{"rail-optimized", "fat-tree", "rail-only"};
  std::vector<std::uint64_t> tiers{2, 3}, domains{8, 72};
  std::vector<double> oversubscriptions{1, 2, 4}, adapters_per_gpu{1, 0.5};
  std::string speed = "NDR";
  std::uint64_t radix = 64;
};
std::vector<FabricShape> shapes_of(const ShapeChoices& choices);

struct PlannedFabric {
  FabricShape shape;
  std::uint64_t gpus = 0, hosts = 0, adapters = 0, switches = 0, switch_ports = 0, host_cables = 0, switch_cables = 0;
  double network_cost = 0, total_cost = 0;
  // Of the job alone on it; step: where the job says what it computes, else its communication.
  double step_us = 0, communication_us = 0;
  std::optional<double> exposed_us;  // of communication, in the step
  std::string generation;

  [[nodiscard]] double network_share() const { return total_cost > 0 ? network_cost / total_cost : 0; }
  // Computing, as a share of the step.
  [[nodiscard]] std::optional<double> efficiency() const;
};

// Error: the shape cannot be built for that number of GPUs, or the job cannot run on it, and why.
Result<PlannedFabric> plan_fabric(const FabricShape& shape, const scheduler::JobSpec& job, const Prices& prices);

// Time that failures take of a long run: checkpoints, what is computed again, and restarts, with checkpoints as often as is best
// (Young, CACM 1974).
struct FailureModel {
  // 419 unexpected interruptions in 54 days on 16,384 GPUs (Llama 3, arXiv 2407.21783).
  double gpu_hours = 50'700;  // of one GPU between two that interrupt the job
  double checkpoint_s = 60, restart_s = 900;
};
struct FailureLoss {
  double hours_between = 0;  // of the job
  double checkpoint_every_s = 0;
  double lost_share = 0;  // of the time
};
FailureLoss failure_loss(const FailureModel& model, std::uint64_t gpus);

}  // namespace railweave::cli
