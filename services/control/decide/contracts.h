// The decision about a contract, apart from the command: API workers call it first to compute the link failures that
// the contract's jobs must survive, so that the control thread finds them cached.
#pragma once

#include "services/control/decide/decide.h"

namespace railweave::control {

// The new terms apply to the tenant's running jobs as well; refused if these would no longer fit.
DecisionResult decide_contract(const ClusterState& state, const PutContract& command, PlacerCache& placers);

}  // namespace railweave::control
