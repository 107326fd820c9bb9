// Why bandwidth is refused, beyond the links that are full: what would change the outcome, and whether anything could.
#pragma once

#include <vector>

#include "services/control/events/command.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// Whether no state of this fabric can hold the guarantee in its class: the job needs several hosts, and no adapter's
// cable that a GPU uses carries the rate of one port, even with every link up and no other job. False: not proven.
bool fits_on_no_cable(const ClusterState& state, const scheduler::JobSpec& spec, const scheduler::Contract& terms);

// Single changes of what the job asks of links: a lower rate, the pattern instead of the hose, without the reservation
// for link failures. links: those that refused it. Whether it would be placed so is for the caller to ask.
std::vector<scheduler::Counterfactual> bandwidth_counterfactuals(const scheduler::JobSpec& spec,
                                                                 const scheduler::Contract& terms,
                                                                 const std::vector<BlockedLink>& links);

}  // namespace railweave::control
