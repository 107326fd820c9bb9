// The accepted topology with what was found in other places: as a command that accepts it. Pure.
#pragma once

#include <span>
#include <vector>

#include "services/control/events/command.h"
#include "services/control/live/status/found_change.h"

namespace railweave::control {

struct AcceptedTopology;

// The topology with these links in place of those that they name and these devices in place of others; all that follows from
// cabling is derived again.
Result<fabric::TopologyPtr> fabric_changed(const fabric::Topology& topology, std::span<const fabric::Recabling> cables,
                                           std::span<const fabric::DeviceExchange> devices);

// Errors: conflict "subnets.cablesExchanged" while cables are exchanged and used as they are.
Result<AcceptTopology> fabric_as_found(const AcceptedTopology& accepted, const std::vector<FoundChange>& changes);

}  // namespace railweave::control
