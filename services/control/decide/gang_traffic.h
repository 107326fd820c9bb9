// What roles of a gang exchange, as the jobs that they are keep it.
#pragma once

#include <span>
#include <vector>

#include "scheduler/placement/roles/role_search.h"
#include "services/control/events/command.h"

namespace railweave::control {

// Sets the peers of each of the jobs, which are the first of the items: those among them. specs: of all items.
void add_peers(std::span<const scheduler::JobSpec> specs, std::span<const GangTraffic> traffic,
               std::vector<scheduler::RolePlace>& jobs);

}  // namespace railweave::control
