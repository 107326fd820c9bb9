// Jobs whose guarantees do not hold where they are: other nodes on which they would. Moved at once where the tenant's
// repair policy says so, else the alarm says how.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/queue/repair/repair.h"
#include "services/control/events/event.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

struct GuaranteeMove {
  std::vector<fabric::GpuId> left;  // of the job, behind full links; rising
  scheduler::RepairPlan plan;
};

// None: it is at no other nodes that its guarantee would hold either, as far as kGuaranteeMoveTries show. Its links
// being full is what is mended; ports that are cut off are job_repair.h's.
inline constexpr unsigned kGuaranteeMoveTries = 3;
std::optional<GuaranteeMove> plan_guarantee_move(const ClusterState& state, const Job& job, PlacerCache& placers);

// Of the guarantees at risk, in the order in which they are served, the first for which there is something to do or to
// say. Apply it, then ask again. At most kMostGuaranteeMoves are looked at.
inline constexpr std::size_t kMostGuaranteeMoves = 8;
std::vector<EventBody> next_guarantee_repair(const ClusterState& state, PlacerCache& placers);

}  // namespace railweave::control
