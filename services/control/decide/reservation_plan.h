// Plans the window of GPUs of a requested reservation or maintenance. Pure but for the placer cache.
#pragma once

#include "fabric/base/error.h"
#include "services/control/events/command.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// An existing reservation of the same name is ignored, as it will be replaced. Errors: reservations.invalid,
// reservations.tooMany, nodes.notFound, tenants.unknown, queue.noRoomForReservation.
Result<scheduler::QueueWindow> plan_window(const ClusterState& state, const PutReservation& command,
                                           std::int64_t now_us, PlacerCache& placers);

}  // namespace railweave::control
