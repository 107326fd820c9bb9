// Jobs under which nodes, adapters or links are lost: what is lost of them, and the plan that makes them whole.
#pragma once

#include <string>
#include <vector>

#include "scheduler/queue/repair/repair.h"
#include "services/control/events/command.h"
#include "services/control/events/event.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// The job's GPUs all of whose adapters are cut off by links that are down. Rising.
std::vector<fabric::GpuId> cut_off_gpus(const ClusterState& state, const Job& job);

// "4 GPUs on node-3 and node-7 are cut off"
std::string loss_text(const fabric::Topology& topology, const std::vector<fabric::GpuId>& lost);

// Which ranks move where, so that none is on a lost GPU. Errors: those of scheduler::plan_repair().
Result<scheduler::RepairPlan> plan_job_repair(const ClusterState& state, const Job& job,
                                              const std::vector<fabric::GpuId>& lost, PlacerCache& placers);

// What is to be recorded of one damaged job, or done for it where its tenant wants repairs applied; none: all that is
// known is recorded. Apply them, then ask again.
std::vector<EventBody> next_damage(const ClusterState& state, PlacerCache& placers);

struct RequestedRepair {
  std::vector<fabric::GpuId> lost;    // of the job
  std::vector<std::string> to_drain;  // nodes of GPUs that the state does not know to be lost
  scheduler::RepairPlan plan;
};
// Errors: jobs.notRunning, jobs.notDamaged, jobs.guaranteeHolds, nodes.notFound, and those of scheduler::plan_repair().
Result<RequestedRepair> plan_requested_repair(const ClusterState& state, const RepairJob& command,
                                              PlacerCache& placers);

// "2 ranks move inside their node, away from 2 GPUs on node-3"
JobMoved moved(const ClusterState& state, const Job& job, const std::vector<fabric::GpuId>& lost,
               const scheduler::RepairPlan& plan, const std::string& reason, PlacerCache& placers);

}  // namespace railweave::control
