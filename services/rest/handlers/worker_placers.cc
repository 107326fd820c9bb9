#include "services/rest/handlers/worker_placers.h"

namespace railweave::api {

control::PlacerCache& worker_placers(const ControlPlane& plane) {
  thread_local control::PlacerCache placers(plane.routes);
  return placers;
}

}  // namespace railweave::api
