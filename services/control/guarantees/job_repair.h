// Repair of jobs that lost nodes, adapters or links: which GPUs are lost, and which ranks move where. Used by decide()
// and FollowUp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/queue/repair/repair.h"
#include "services/control/events/command.h"
#include "services/control/events/event.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// "4 GPUs on node-3, node-7"
std::string loss_text(const fabric::Topology& topology, const std::vector<fabric::GpuId>& lost);

// "4 GPUs on node-3 cut off", with the links between its sites that are out of use if it spans any.
std::string cut_off_text(const ClusterState& state, const Job& job, const std::vector<fabric::GpuId>& lost);

// Which ranks move where, so that none is on a lost GPU, none to GPUs that are set aside until the job is expected to
// end, and all have routes to each other. Errors: those of scheduler::plan_repair().
Result<scheduler::RepairPlan> plan_job_repair(const ClusterState& state, const Job& job,
                                              const std::vector<fabric::GpuId>& lost, PlacerCache& placers,
                                              std::int64_t now_us);

// Of the GPUs of its ranks those that were declared lost (Job::lost) and are still drained. Ascending.
std::vector<fabric::GpuId> declared_lost(const ClusterState& state, const Job& job);

// For a job whose lost nodes or GPUs have no spare: that they are lost, with an alarm, so that FollowUp repairs it when
// there is room. why: there is none now.
void add_unrepaired(const ClusterState& state, const Job& job, const RepairJob& command, const std::string& why,
                    std::vector<EventBody>& events);

// The events for the next damaged job, one whose ranks cannot all reach each other (views/rank_reach.h) or are on GPUs that were declared lost: its damage is
// recorded with an alarm, or its ranks move if the tenant's policy is RepairPolicy::apply and the damage has lasted for as long as it
// says. Empty: nothing is left to do now. Apply the events, then call again. due_us: set to the earliest time at which a
// repair is due; 0: none is.
std::vector<EventBody> next_damage(const ClusterState& state, PlacerCache& placers, std::int64_t now_us,
                                   std::int64_t& due_us);

struct RequestedRepair {
  std::vector<fabric::GpuId> lost;    // GPUs of the job
  std::vector<DrainTarget> to_drain;  // nodes and GPUs that the command names and that are not drained yet
  scheduler::RepairPlan plan;
  // What it costs: communication per step before and after, and the work since the last checkpoint, which is done again.
  std::optional<scheduler::Prediction> before, after;
  double lost_gpu_s = 0;
};

// The nodes and GPUs that the command names as lost and that are not drained yet, whether or not there are spares.
std::vector<DrainTarget> named_as_lost(const ClusterState& state, const RepairJob& command);

// The rules of its request that a placed job breaks where it is, as after an import.
std::vector<scheduler::PlacementViolation> job_violations(const ClusterState& state, const Job& job);

// Errors: jobs.notRunning, jobs.notDamaged, jobs.guaranteeHolds, nodes.notFound, and those of scheduler::plan_repair().
Result<RequestedRepair> plan_requested_repair(const ClusterState& state, const RepairJob& command, PlacerCache& placers,
                                              std::int64_t now_us);

// The event of a repair plan. Its reason: "2 ranks move within one node, away from 2 GPUs on node-3
// (rank 4 node-3:0 > node-3:6, ...): ..."
// lost_nodes: named as lost, which members of CPU-only roles leave.
JobMoved moved(const ClusterState& state, const Job& job, const std::vector<fabric::GpuId>& lost,
               const scheduler::RepairPlan& plan, const std::string& reason, PlacerCache& placers,
               std::span<const std::string> lost_nodes = {});

}  // namespace railweave::control
