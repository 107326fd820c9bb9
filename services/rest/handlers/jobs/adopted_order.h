// What the order of an adopted job's ranks costs, kept for as long as its GPUs and the links stay as they are.
#pragma once

#include <optional>

#include "scheduler/placement/rank_order.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

// none: it cannot be told of this state.
std::optional<scheduler::RankOrder> adopted_order(const ControlPlane& plane, const control::ClusterState& state,
                                                  const control::Job& job);

}  // namespace railweave::api
