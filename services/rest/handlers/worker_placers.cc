#include "services/rest/handlers/worker_placers.h"

namespace railweave::api {

control::PlacerCache& worker_placers(const ControlPlane& plane) {
  thread_local control::PlacerCache placers(plane.routes);
  return placers;
}

control::QueueRunner& worker_queue(const ControlPlane& plane) {
  thread_local control::QueueRunner queue(worker_placers(plane), 0);
  return queue;
}

}  // namespace railweave::api
