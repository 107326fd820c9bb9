// Repair of jobs that lost nodes, adapters or links: which GPUs are lost, and which ranks move where. Used by decide()
// and FollowUp.
#pragma once

#include <string>
#include <vector>

#include "scheduler/queue/repair/repair.h"
#include "services/control/events/command.h"
#include "services/control/events/event.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// "4 GPUs on node-3, node-7"
std::string loss_text(const fabric::Topology& topology, const std::vector<fabric::GpuId>& lost);

// Which ranks move where, so that none is on a lost GPU, none to GPUs that are set aside until the job is expected to
// end, and all have routes to each other. Errors: those of scheduler::plan_repair().
Result<scheduler::RepairPlan> plan_job_repair(const ClusterState& state, const Job& job,
                                              const std::vector<fabric::GpuId>& lost, PlacerCache& placers,
                                              std::int64_t now_us);

// The events for the next damaged job, one whose ranks cannot all reach each other (views/rank_reach.h): its damage is
// recorded, or its ranks move if the tenant's policy is
// RepairPolicy::apply. Empty: nothing is left to record. Apply the events, then call again.
std::vector<EventBody> next_damage(const ClusterState& state, PlacerCache& placers, std::int64_t now_us);

struct RequestedRepair {
  std::vector<fabric::GpuId> lost;    // GPUs of the job
  std::vector<std::string> to_drain;  // nodes that the command names and that are not drained yet
  scheduler::RepairPlan plan;
};
// Errors: jobs.notRunning, jobs.notDamaged, jobs.guaranteeHolds, nodes.notFound, and those of scheduler::plan_repair().
Result<RequestedRepair> plan_requested_repair(const ClusterState& state, const RepairJob& command, PlacerCache& placers,
                                              std::int64_t now_us);

// The event of a repair plan. Its reason: "2 ranks move within one node, away from 2 GPUs on node-3: ..."
JobMoved moved(const ClusterState& state, const Job& job, const std::vector<fabric::GpuId>& lost,
               const scheduler::RepairPlan& plan, const std::string& reason, PlacerCache& placers);

}  // namespace railweave::control
