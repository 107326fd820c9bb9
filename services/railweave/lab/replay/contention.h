// The predicted slowdown of jobs that run at the same time and share the network. Every job of more than one node puts its
// communication (of the default model, since a trace gives none) on bundles of links at the mean rate of its step, and
// receives max-min fair shares of them. Jobs still run for as long as the trace says: its durations already contain the
// contention of their own cluster.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "scheduler/collective/link_senders.h"
#include "scheduler/collective/placement_cost.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::cli {

class Contention {
 public:
  explicit Contention(const scheduler::PlacementFabricPtr& fabric);

  struct Slowdown {
    double communication = 1;  // time beside other jobs, relative to alone
    double step = 1;           // the same of a training step
  };
  void start(std::uint64_t job, const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);
  void end(std::uint64_t job);
  // With the jobs that run now; 1 for a job that sends nothing over the network.
  [[nodiscard]] Slowdown slowdown(std::uint64_t job) const;
  [[nodiscard]] bool sends(std::uint64_t job) const { return sending_.contains(job); }
  [[nodiscard]] std::vector<std::uint64_t> jobs() const;  // those that send

 private:
  struct Sending {
    scheduler::ModelSpec model;
    scheduler::Parallelism parallelism;
    scheduler::LinkTraffic traffic;
    scheduler::PlacementCost alone;
    double step_us = 0;
  };

  scheduler::PlacementFabricPtr fabric_;
  const scheduler::GpuGeneration& generation_;
  std::vector<double> capacity_mbps_;  // by bundle
  scheduler::PlacementCostModel model_;
  scheduler::LinkSenders senders_;
  std::map<std::uint64_t, Sending> sending_;
};

}  // namespace railweave::cli
