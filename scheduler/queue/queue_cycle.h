// One cycle of the queue: which waiting jobs start now and where, who is evicted for them, and why the others wait.
// Pure: the answer depends on the input and the allocations alone; nothing is changed. The caller makes events of it.
//
//   QueueCycle cycle(placement_fabric);              // once per thread and topology: it owns two Placers
//   CycleResult result = cycle.run(state.allocations, {.policy = policy, .queued = ..., .running = ..., .now_us =
//   ...}); for (const auto& evicted : result.evictions) ...  // first: their GPUs are given to jobs in `starts` for
//   (const auto& start : result.starts) ...       // in this order
//
// Ends of jobs are as expected (spec or policy); what runs over is taken to go on for QueuePolicy::overrun_us more.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/placement/placer.h"
#include "scheduler/queue/fair_share.h"
#include "scheduler/queue/queue_job.h"
#include "scheduler/queue/queue_policy.h"
#include "scheduler/queue/start_gate.h"
#include "scheduler/queue/wait_reason.h"

namespace railweave::scheduler {

struct QueueInput {
  const QueuePolicy* policy = nullptr;  // that check_queue_policy() accepts
  std::span<const QueuedJob> queued;    // in any order; specs that check_job_spec() accepts
  std::span<const RunningJob> running;  // each holding its GPUs in the allocations
  const FairShare* used = nullptr;      // for FairShareRule::decayed; none: nobody used anything
  std::int64_t now_us = 0;
  StartGate* gate = nullptr;  // none: GPUs are all a job needs
  bool explain = true;        // the placement's own account of why the first waiting job does not fit
};

struct StartedJob {
  QueueJobId job = 0;
  Placement placement;
  bool passed_others = false;                // backfilled: an earlier job waits for GPUs
  std::vector<QueueJobId> evicted;           // whose GPUs it needs: they must be gone first
  [[nodiscard]] std::string reason() const;  // for its history: "GPUs free", "backfilled", "evicts job-000098"
};

struct EvictedJob {
  QueueJobId job = 0;
  QueueJobId in_favour_of = 0;
  double lost_gpu_s = 0;
  bool reclaimed = false;  // its tenant had borrowed what the other's owns; else: of lower priority
  [[nodiscard]] std::string reason() const;
};

struct WaitingJob {
  QueueJobId job = 0;
  WaitReason reason;
};

struct CycleResult {
  std::vector<StartedJob> starts;
  std::vector<EvictedJob> evictions;
  std::vector<WaitingJob> waiting;  // in the order of the queue
  // Nothing changes before this time unless a job comes or ends or nodes do; 0: nothing at all.
  std::int64_t wake_us = 0;
  std::uint64_t placements_tried = 0;
  std::uint64_t shapes = 0;  // different ones among the queued
};

class QueueCycle {
 public:
  explicit QueueCycle(PlacementFabricPtr fabric);
  ~QueueCycle();
  QueueCycle(QueueCycle&&) noexcept;
  QueueCycle& operator=(QueueCycle&&) noexcept;

  // As Placer::set_capacities() and set_left(); what others leave now says nothing of places in the future.
  void set_capacities(const std::vector<double>& bundle_mbps, const std::vector<double>& up_mbps = {});
  void set_left(std::shared_ptr<const std::vector<double>> bundle_mbps);
  [[nodiscard]] CycleResult run(const Allocations& allocations, const QueueInput& input);

 private:
  struct Placers;
  std::unique_ptr<Placers> placers_;
};

}  // namespace railweave::scheduler
