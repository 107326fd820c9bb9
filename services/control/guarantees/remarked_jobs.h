// Running jobs whose ranks mark their packets, by what they were started with, for a class or a lane that other classes of traffic
// would give to another, or to none. Pure.
#pragma once

#include <vector>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

// With these classes in place of the state's: those whose service level differs, and on Ethernet those whose DSCP does.
std::vector<JobId> remarked_jobs(const ClusterState& state, const fabric::QosClasses& classes);

}  // namespace railweave::control
