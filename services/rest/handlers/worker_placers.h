// What a worker thread keeps to answer placement questions from: brought to the newest state by what changed since its
// last one. On worker threads only.
#pragma once

#include "services/control/views/placer_cache.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

control::PlacerCache& worker_placers(const ControlPlane& plane);

}  // namespace railweave::api
