// Advice about jobs that run where something else placed them. It changes nothing.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/rest/handlers/jobs/job_submission.h"
#include "services/rest/handlers/jobs/placed_what_if.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/jobs/placement_advice.h"

namespace railweave::api {
namespace {

using scheduler::JobSpec;

std::optional<double> communication_us(const scheduler::Placement& placement) {
  if (!placement.predicted || !placement.predicted->reachable) return std::nullopt;
  return placement.predicted->communication_us;
}

std::vector<std::string> nodes_of(const scheduler::Placement& placement, const fabric::Topology& topology) {
  std::set<std::string> names;
  for (const auto gpu : placement.gpu_of_rank) names.emplace(topology.name(topology.host(gpu)));
  return {names.begin(), names.end()};
}

Result<Response> advise_placement(const Call& call) {
  auto request = read_advice_request(call.request.body);
  if (!request) return std::unexpected(request.error());
  const auto state = call.plane.loop.state();
  auto checked = hold_to_own_tenant(call.request, request->job);
  if (checked) checked = check_query(*state, request->job);
  if (!checked) return std::unexpected(located_in_job(std::move(checked.error())));
  const std::string* own = own_tenant(call.request);
  const auto would = [&](const JobSpec& spec) {
    return try_placement_alone({*state, worker_placers(call.plane), worker_queue(call.plane), call.plane.loop.now_us()},
                               spec, own != nullptr);
  };
  const fabric::Topology& topology = state->placement_fabric->topology();
  PlacementAdvice advice;
  TriedPlacement there = would(before_it_ran(*request));
  if (!there && there.error().placement == nullptr) {
    there.error().error = located_in_job(std::move(there.error().error));
    return rejected(call, there.error());
  }
  if (there) {
    const scheduler::Placement& placement = there->placed.result.placement;
    advice.placed = true;
    advice.nodes = nodes_of(placement, topology);
    advice.same_nodes = advice.nodes == request->nodes;
    advice.us = communication_us(placement);
  } else {
    const Viewer viewer(call.request);
    const scheduler::Explanation& why = there.error().placement->explanation;
    advice.code = why.code;
    advice.reason = why.whole().text(viewer.reader(*state));
  }
  if (const auto here = would(where_it_runs(*request)))
    advice.runs_at_us = communication_us(here->placed.result.placement);
  return Response::json(write_advice(advice));
}

}  // namespace

void add_placement_advice_routes(RouteTable& routes) {
  routes.post("/v1/placements/advice",
              {.access = kViewersAndMembers,
               .by = AnsweredBy::any,
               .http = {.compute = true, .consumes = {"application/json"}}},
              advise_placement);
}

}  // namespace railweave::api
