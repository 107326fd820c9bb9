// The alarms that links, switches and cabling of one subnet raise. Used by the stepping thread.
#pragma once

#include <map>
#include <string>

#include "services/control/live/links/observed_links.h"
#include "services/control/live/links/subnet_context.h"
#include "services/control/live/links/subnet_health.h"
#include "services/control/live/links/switch_presence.h"

namespace railweave::control {

// Counts and sights of links into the status; "link.flapping" and "switch.flapping".
void show_links(const SubnetContext& context, const SubnetLinks& links, const ObservedLinks& observed);

// Switches that were left out of programming, and why.
using IsolatedSwitches = std::map<fabric::SwitchId, std::string>;

// Compares what was discovered with the accepted topology: differences into the status; "link.down",
// "switch.isolated" and "subnet.differs".
void show_differences(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links,
                      const ObservedLinks& observed, const IsolatedSwitches& isolated,
                      const SwitchPresences& presences);

// Devices whose counters cannot be read, in the status, and as alarms where that lasts.
void show_unread_counters(const SubnetContext& context, const SubnetLinks& links, const SubnetHealth& health);

}  // namespace railweave::control
