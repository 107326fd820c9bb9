// The queue of one policy in a replay: it decides which jobs start and where.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/queue/policy/queue_job.h"
#include "services/railweave/lab/replay/replay.h"

namespace railweave::cli {

struct ReplayJob {
  scheduler::JobSpec spec;  // with the expected duration
  std::int64_t submitted_us = 0, runs_us = 0;
  std::int64_t started_us = -1;
  std::vector<fabric::GpuId> gpus;  // while it runs
};
using ReplayJobs = std::vector<ReplayJob>;
using JobIndex = std::uint32_t;

struct ReplayStart {
  JobIndex job = 0;
  std::vector<fabric::GpuId> gpus;
};

class ReplayQueue {
 public:
  virtual ~ReplayQueue() = default;
  // `waiting` is ordered by submission. The caller starts what is returned.
  [[nodiscard]] virtual std::vector<ReplayStart> decide(std::int64_t now_us, const ReplayJobs& jobs,
                                                        const std::vector<JobIndex>& waiting,
                                                        const std::vector<JobIndex>& running) = 0;
  // When it decides again without a change; 0: never.
  [[nodiscard]] virtual std::int64_t wake_us() const { return 0; }
  virtual void ended(const ReplayJob& job, JobIndex number) = 0;  // while job.gpus still holds its GPUs
};

std::unique_ptr<ReplayQueue> make_railweave_queue(const scheduler::PlacementFabricPtr& fabric,
                                                  const ReplayOptions& options);
// First come, first served, with or without EASY backfill, on a PeerPlacer.
std::unique_ptr<ReplayQueue> make_peer_queue(const scheduler::PlacementFabricPtr& fabric, const ReplayOptions& options);

}  // namespace railweave::cli
