// The placers of this worker thread, brought from its last state to the newest one by their differences. On worker
// threads only.
#pragma once

#include "services/control/decide/queue_runner.h"
#include "services/control/views/placer_cache.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

control::PlacerCache& worker_placers(const ControlPlane& plane);
// For what-ifs: asks what the queue would do, and paces nothing.
control::QueueRunner& worker_queue(const ControlPlane& plane);

}  // namespace railweave::api
