// Alarms about links between sites, which no live subnet reports: "link.down" and "link.degraded". They follow from the
// state, so that a restart or an import leaves none behind. Used by FollowUp.
#pragma once

#include <vector>

#include "services/control/events/event.h"

namespace railweave::control {

// The alarms that are missing, and those that are over. O(alarms), and O(ranks) for each alarm raised.
std::vector<EventBody> site_link_alarm_changes(const ClusterState& state);

}  // namespace railweave::control
