// The input of a cycle of the queue, from a state.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/queue/cycle/queue_input.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// Borrows from the state's jobs, which `jobs` keeps alive where it is made from the state alone.
struct QueueFacts {
  scheduler::QueuePolicy policy;
  std::vector<JobPtr> jobs;  // owners of what the members below point at
  std::vector<scheduler::QueuedJob> queued;
  std::vector<scheduler::RunningJob> running;
  std::deque<std::vector<fabric::GpuId>> held;  // GPUs of running jobs that hold idle ones in addition
  std::optional<scheduler::FairShare> used;     // set if the policy uses it

  QueueFacts(const ClusterState& state, std::int64_t now_us);
  // The places that jobs keep while they wait for better ones, which must live as long as this.
  void keep(const std::map<scheduler::QueueJobId, std::vector<fabric::GpuId>>& gpus);

 private:
  friend class QueueBook;
  struct RulesAlone {};
  QueueFacts(const ClusterState& state, std::int64_t now_us, RulesAlone);
  void add_running(const Job& job, std::int64_t now_us);
  void mark_awaited();

  std::set<scheduler::QueueJobId> awaited_;  // jobs that others make way for
};

// What a cycle sees of a job that waits, but for whether it takes any place, which is a matter of its tenant's contract.
scheduler::QueuedJob queued_job(const Job& job);
// The bandwidth of a guarantee is not kept for a job that waits, so it takes the place where it has room.
bool takes_any_place(const ClusterState& state, const scheduler::JobSpec& spec);

}  // namespace railweave::control
