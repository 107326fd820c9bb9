// "hosts.cutOff": parts of a fabric that no link in use joins to the rest any more, by failures or by drains that were
// forced. Each is one alarm that names its hosts and jobs. They follow from the state, of live subnets and of others, so that
// a restart or an import leaves none behind. Used by FollowUp.
#pragma once

#include <vector>

#include "services/control/events/event.h"

namespace railweave::control {

// The alarms that are missing, and those that are over. O(alarms), and O(hosts + jobs) where anything is cut off.
std::vector<EventBody> cut_off_alarm_changes(const ClusterState& state);

}  // namespace railweave::control
