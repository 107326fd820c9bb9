// The nodes of CPU-only roles of a job whose GPUs are chosen.
#pragma once

#include "scheduler/placement/fit/placement.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// Fills in Placement::cpu_seats from its GPUs, as scheduler::cpu_seats(). Of a job without such roles: nothing.
void seat_cpu_roles(const ClusterState& state, const scheduler::JobSpec& spec, scheduler::Placement& placement);

// Whether a member is on a node that takes no jobs any more.
bool has_lost_member(const ClusterState& state, const scheduler::Placement& placement);

}  // namespace railweave::control
