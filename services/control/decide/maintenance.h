// Maintenance that begins and ends: its nodes are drained, an alarm names the jobs that still run on them, and what it
// drained comes back when it is over. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "services/control/events/event.h"

namespace railweave::control {

// Maintenance that has not begun yet.
bool begins(const GpuReservation& reservation);

// The events of the next maintenance that begins at that time, or whose alarm is due or over. Empty: nothing is left.
std::vector<EventBody> next_maintenance(const ClusterState& state, std::int64_t now_us);

// Appends what follows from the end of a reservation, before it is removed or replaced.
void add_maintenance_end(const ClusterState& state, const GpuReservation& reservation, std::vector<EventBody>& events);

}  // namespace railweave::control
