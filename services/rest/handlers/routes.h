// Everything under /v1, and the service's own endpoints: each function adds the routes of some resources to the table.
// The contract is api/openapi.yaml; a test holds the two together. How to add one: services/rest/ADDING_AN_ENDPOINT.md.
#pragma once

#include <functional>
#include <memory>

#include "api/http/dispatch/metrics.h"
#include "api/operations/operations.h"
#include "services/rest/access/sign_in.h"
#include "services/rest/handlers/route_table.h"
#include "services/webhooks/address_rules.h"

namespace railweave::api {

// Operations must outlive the server.
void add_fabric_routes(RouteTable& routes, Operations& operations);
void add_live_routes(RouteTable& routes, Operations& operations);  // subnets, sync, discovery
void add_found_change_routes(RouteTable& routes);                  // of add_live_routes()
void add_job_route_routes(RouteTable& routes);                     // of add_live_routes()
void add_counter_history_routes(RouteTable& routes);
void add_drain_routes(RouteTable& routes);
void add_alarm_routes(RouteTable& routes);
void add_routing_routes(RouteTable& routes);
void add_job_routes(RouteTable& routes);
// Of add_job_routes().
class JobAnswers;
void add_job_change_routes(RouteTable& routes, const std::shared_ptr<JobAnswers>& answers);
void add_job_batch_routes(RouteTable& routes);
void add_job_ports_routes(RouteTable& routes);
void add_job_traffic_routes(RouteTable& routes);
void add_step_routes(RouteTable& routes);
void add_placement_query_routes(RouteTable& routes);
void add_placement_advice_routes(RouteTable& routes);
void add_lab_routes(RouteTable& routes);  // planning on fabrics of a request's own
void add_launch_routes(RouteTable& routes, const std::shared_ptr<JobAnswers>& answers);  // what launchers say
void add_queue_routes(RouteTable& routes);                                               // with reservations
void add_move_routes(RouteTable& routes);                                                // of add_queue_routes()
void add_tenant_routes(RouteTable& routes);
void add_token_routes(RouteTable& routes);  // with who the caller is
void add_sign_in_routes(RouteTable& routes, const SignIn& sign_in);
void add_contract_routes(RouteTable& routes);   // with traffic classes
void add_guarantee_routes(RouteTable& routes);  // with source caps and partitions of jobs
void add_agent_routes(RouteTable& routes);      // budgets of nodes, and what their agents report
void add_event_routes(RouteTable& routes);
void add_webhook_routes(RouteTable& routes, const webhooks::AddressRules& rules);
void add_audit_routes(RouteTable& routes);
void add_operation_routes(RouteTable& routes, Operations& operations);
void add_service_routes(RouteTable& routes, std::function<HttpMetrics()> http_metrics);

}  // namespace railweave::api
