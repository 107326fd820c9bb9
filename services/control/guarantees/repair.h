// Repair of guarantees at risk by moving jobs: finds other nodes on which a guarantee would hold. The job moves at once
// if the tenant's policy is RepairPolicy::apply; else the alarm names the command. Used by FollowUp and job_repair.h.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/queue/repair/repair.h"
#include "services/control/events/event.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

struct GuaranteeMove {
  std::vector<fabric::GpuId> vacated;  // GPUs of the job behind full links; ascending
  scheduler::RepairPlan plan;
};

// None: no nodes on which the guarantee would hold were found in kGuaranteeMoveTries attempts. Repairs guarantees whose
// links are too full; ports that are cut off are the subject of job_repair.h.
inline constexpr unsigned kGuaranteeMoveTries = 3;
std::optional<GuaranteeMove> plan_guarantee_move(const ClusterState& state, const Job& job, PlacerCache& placers,
                                                 std::int64_t now_us);

// The events for the first guarantee at risk, in guarantee_order(), that can move or whose alarm changes. Apply them,
// then call again. Considers at most kMaxGuaranteeMoves guarantees.
inline constexpr std::size_t kMaxGuaranteeMoves = 8;
std::vector<EventBody> next_guarantee_repair(const ClusterState& state, PlacerCache& placers, std::int64_t now_us);

}  // namespace railweave::control
