// What changes of contracts and classes would do: they apply to the jobs that run as well, and are refused where these
// do not fit any more.
#pragma once

#include "services/control/decide/decide.h"

namespace railweave::control {

std::expected<Decision, Rejection> decide_contract(const ClusterState& state, const PutContract& command,
                                                   PlacerCache& placers);
std::expected<Decision, Rejection> decide_contract(const ClusterState& state, const RemoveContract& command);
std::expected<Decision, Rejection> decide_contract(const ClusterState& state, const PutQosClasses& command,
                                                   PlacerCache& placers);

}  // namespace railweave::control
