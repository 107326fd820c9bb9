// The window of GPUs that a reservation or a maintenance asks for.
#pragma once

#include "fabric/base/error.h"
#include "services/control/events/command.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// One of the same name is planned anew, as if the old one were not there. Errors: reservations.invalid, nodes.notFound,
// tenants.unknown, queue.noRoomForReservation.
Result<scheduler::QueueWindow> plan_window(const ClusterState& state, const PutReservation& command,
                                           std::int64_t now_us, PlacerCache& placers);

}  // namespace railweave::control
