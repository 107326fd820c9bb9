// Whether the network is set up for a job: what a launcher waits for before its first rank starts.
#include <utility>

#include "services/rest/handlers/jobs/job_lookup.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/jobs/job_ports.h"

namespace railweave::api {
namespace {

Result<Response> get_job_ports(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  return Response::json(write_job_ports(*state, **job, [&live = call.plane.live](const std::string& subnet) {
    return LivePorts{live.subnet(subnet), live.port_progress(subnet).value_or(control::PortProgress())};
  }));
}

}  // namespace

void add_job_ports_routes(RouteTable& routes) {
  routes.get("/v1/jobs/{id}/ports", {.access = kViewersAndMembers, .by = AnsweredBy::leader, .http = {.compute = true}},
             get_job_ports);
}

}  // namespace railweave::api
