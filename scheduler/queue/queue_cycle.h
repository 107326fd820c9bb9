// One cycle of the queue: which waiting jobs start now and where, which running jobs are evicted for them, and why the
// others wait. Pure: the answer depends on the input and the allocations alone; nothing is changed. The caller turns
// the result into events. Not thread-safe: it owns two Placers; keep one per thread and topology.
//
//   QueueCycle cycle(placement_fabric);
//   CycleResult result = cycle.run(state.allocations, {.policy = &policy, .queued = ..., .running = ..., .now_us = ...});
//   for (const EvictedJob& evicted : result.evictions) ...  // first: jobs in `starts` use their GPUs
//   for (const StartedJob& started : result.starts) ...     // in this order
//
// A running job ends when its spec or the policy says. One that runs over is expected to end QueuePolicy::overrun_us
// after now.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/placement/placer.h"
#include "scheduler/queue/cycle/cycle_result.h"
#include "scheduler/queue/cycle/queue_input.h"

namespace railweave::scheduler {

class QueueCycle {
 public:
  explicit QueueCycle(const PlacementFabricPtr& fabric, PlacerOptions options = {});
  ~QueueCycle();
  QueueCycle(QueueCycle&&) noexcept;
  QueueCycle& operator=(QueueCycle&&) noexcept;

  // As Placer::set_capacities(), set_residual() and set_parts(). Residual capacities count for jobs that start now only.
  void set_capacities(const std::vector<double>& bundle_mbps, const std::vector<double>& up_mbps = {});
  void set_residual(std::shared_ptr<const std::vector<double>> bundle_mbps);
  void set_parts(const std::shared_ptr<const NetworkParts>& parts);
  [[nodiscard]] CycleResult run(const Allocations& allocations, const QueueInput& input);

 private:
  struct Placers;
  std::unique_ptr<Placers> placers_;
};

}  // namespace railweave::scheduler
