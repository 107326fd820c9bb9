// Everything under /v1, and the service's own endpoints: which path is answered by which handler. The contract is
// api/openapi.yaml; a test holds the two together.
#pragma once

#include <functional>

#include "api/http/dispatch/metrics.h"
#include "api/http/dispatch/router.h"
#include "api/operations/operations.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

// The plane and operations must outlive the router's server.
void add_fabric_routes(Router& router, const ControlPlane& plane, Operations& operations);  // and the next three
void add_live_routes(Router& router, const ControlPlane& plane, Operations& operations);    // subnets, sync, discovery
void add_drain_routes(Router& router, const ControlPlane& plane);
void add_alarm_routes(Router& router, const ControlPlane& plane);
void add_routing_routes(Router& router, const ControlPlane& plane);
void add_job_routes(Router& router, const ControlPlane& plane);
void add_queue_routes(Router& router, const ControlPlane& plane);
void add_tenant_routes(Router& router, const ControlPlane& plane);
void add_contract_routes(Router& router, const ControlPlane& plane);   // and classes of traffic
void add_guarantee_routes(Router& router, const ControlPlane& plane);  // and what enforces them, job by job
void add_event_routes(Router& router, const ControlPlane& plane);
void add_operation_routes(Router& router, Operations& operations);
void add_service_routes(Router& router, const ControlPlane& plane, std::function<HttpMetrics()> http_metrics);

}  // namespace railweave::api
