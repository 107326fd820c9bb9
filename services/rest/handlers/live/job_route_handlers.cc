// Routes that follow jobs, of Ethernet subnets: what they are to be, and setting them. Who programs the switches reads their tables.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "services/control/views/job_routes.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/live/job_routes.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::JobRoutes;

// The subnet, where its routes are the operator's to program.
Result<fabric::SubnetId> subnet_of(const Call& call, const ClusterState& state) {
  const std::string& name = call.request.param("id");
  const auto& t = state.topology();
  fabric::SubnetId subnet;
  for (const fabric::SubnetId id : t.subnets()) {
    if (t.name(id) == name) subnet = id;
  }
  if (!subnet) {
    return fail(ErrorKind::notFound, "subnets.notFound", "there is no subnet '" + name + "'", {},
                "GET /v1/subnets lists them");
  }
  if (call.plane.live.subnet(name) != nullptr) {
    return fail(ErrorKind::conflict, "subnets.live", "subnet " + name + " has a live connection", {},
                "in direct mode its routes follow jobs by themselves: follow_jobs in its [[subnet]]");
  }
  const bool is_ethernet = std::ranges::any_of(t.links(), [&](fabric::LinkId link) {
    const auto sw = t.switch_of(t.a(link));
    return sw && t.subnet(sw) == subnet && t.kind(link) == fabric::LinkKind::ethernet;
  });
  if (!is_ethernet) {
    return fail(ErrorKind::conflict, "subnets.notEthernet", "subnet " + name + " is not an Ethernet fabric", {},
                "what programs an InfiniBand subnet is its live connection: [[subnet]] in railweaved's configuration");
  }
  return subnet;
}

// What is set: as it was proposed, in the state that it was proposed for.
control::TakeJobRoutes command_of(const std::string& subnet, const JobRoutes& routes, const ClusterState& state) {
  control::RoutesRebalanced report{.subnet = subnet, .links = {}, .switches = {}, .hops = routes.hops};
  report.jobs = routes.jobs;
  report.asked_permille = static_cast<std::uint64_t>(std::llround(1000 * routes.fullest));
  report.asked_permille_before = static_cast<std::uint64_t>(std::llround(1000 * routes.fullest_before));
  return {std::move(report), state.view_version};
}

Result<JobRoutes> proposal(const Call& call, const ClusterState& state) {
  const auto subnet = subnet_of(call, state);
  if (!subnet) return std::unexpected(subnet.error());
  const auto now = call.plane.routes->at(state);
  if (!now) return std::unexpected(now.error());
  return control::routes_for_jobs(state, **now, *subnet);
}

Result<Response> shown(const Call& call, const ClusterState& state, const JobRoutes& routes, bool is_set) {
  const auto subnet = subnet_of(call, state);
  if (!subnet) return std::unexpected(subnet.error());
  const auto now = call.plane.routes->at(state);
  if (!now) return std::unexpected(now.error());
  const auto tables = control::table_digests(state, **now, *subnet);
  return Response::json(write_job_routes(state, call.request.param("id"), routes, tables, is_set));
}

Result<Response> get_job_routes(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto routes = proposal(call, *state);
  if (!routes) return std::unexpected(routes.error());
  return shown(call, *state, *routes, false);
}

Result<Response> post_job_routes(const Call& call) {
  const std::string& name = call.request.param("id");
  for (int attempts = 1;; ++attempts) {
    const auto state = call.plane.loop.state();
    auto routes = proposal(call, *state);
    if (!routes) return std::unexpected(routes.error());
    if (!routes->is_change()) return shown(call, *state, *routes, false);
    const auto result = decide_now(call, command_of(name, *routes, *state));
    if (result) {
      const auto basis = result->state->route_bases->find(name);
      const bool is_set =
          basis != result->state->route_bases->end() ? basis->second.hops == routes->hops : routes->hops.empty();
      if (!is_set) routes->kept_because = "jobs with guarantees would have other paths, or be promised less";
      return shown(call, *result->state, *routes, is_set);
    }
    const auto& rejection = result.error();
    if (rejection.error.code != "routes.viewChanged" || attempts == kMaxAttempts) return rejected(call, rejection);
  }
}

Result<Response> delete_job_routes(const Call& call) {
  for (int attempts = 1;; ++attempts) {
    const auto state = call.plane.loop.state();
    const auto subnet = subnet_of(call, *state);
    if (!subnet) return std::unexpected(subnet.error());
    const auto result = decide_now(call, command_of(call.request.param("id"), {}, *state));
    if (result) return Response::empty();
    const auto& rejection = result.error();
    if (rejection.error.code != "routes.viewChanged" || attempts == kMaxAttempts) return rejected(call, rejection);
  }
}

}  // namespace

void add_job_route_routes(RouteTable& routes) {
  const RouteOptions heavy{.compute = true, .heavy = true};
  routes.get("/v1/subnets/{id}/job-routes", {.access = kViewers, .by = AnsweredBy::leader, .http = heavy},
             get_job_routes);
  routes.post("/v1/subnets/{id}/job-routes", {.access = kOperators, .http = heavy}, post_job_routes);
  routes.del("/v1/subnets/{id}/job-routes", {.access = kOperators, .http = heavy}, delete_job_routes);
}

}  // namespace railweave::api
