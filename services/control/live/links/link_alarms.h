// The alarms that links, switches and cabling of one subnet raise. Used by the stepping thread.
#pragma once

#include <map>
#include <string>

#include "services/control/live/links/observed_links.h"
#include "services/control/live/links/subnet_context.h"
#include "services/control/live/links/switch_presence.h"

namespace railweave::control {

// "link.flapping": links that are not used until they are calm.
void raise_flapping(const SubnetContext& context, const SubnetLinks& links, const ObservedLinks& observed);

// Switches that were left out of programming, and why.
using IsolatedSwitches = std::map<fabric::SwitchId, std::string>;

// Compares what was discovered with the accepted topology: differences into the status; "link.down", "hosts.cutOff",
// "switch.isolated" and "subnet.differs".
void show_differences(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links,
                      const ObservedLinks& observed, const IsolatedSwitches& isolated,
                      const SwitchPresences& presences);

}  // namespace railweave::control
