#include <fmt/core.h>

#include "services/control/views/job_ports.h"
#include "services/rest/handlers/fabric/fabric_lists.h"
#include "services/rest/handlers/guarantees/agent_grades.h"
#include "services/rest/handlers/guarantees/open_book.h"
#include "services/rest/handlers/jobs/job_lookup.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/tables_of_answer.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/fabric/drain.h"
#include "services/rest/json/guarantees/guarantee.h"
#include "services/rest/json/guarantees/switch_queues.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

using control::ClusterStatePtr;
using control::JobId;
using control::JobPtr;

constexpr std::uint64_t kTop = 20, kMaxTop = 10'000;

std::string_view standing(const control::ClusterState& state, const control::Job& job,
                          std::span<const control::SubnetStatusPtr> live, std::span<const control::TablesUsed> tables) {
  if (job.guarantee->at_risk()) return "atRisk";
  const auto ports = control::job_ports(*state.placement_fabric, job.placement.gpu_of_rank);
  return not_in_force(state, job, ports, live, tables).empty() ? "holds" : "planned";
}

Result<Response> list_guarantees(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const auto* tenant = call.request.query("tenant");
  const auto* wanted = call.request.query("state");
  if (wanted != nullptr && *wanted != "holds" && *wanted != "planned" && *wanted != "atRisk") {
    return fail(ErrorKind::invalid, "query.invalidState", "there is no state '" + *wanted + "'", {},
                "holds, planned or atRisk");
  }
  JobId after;
  if (!query->cursor.empty()) {
    const auto parsed = control::parse_job_id(query->cursor);
    if (!parsed) return invalid_cursor(query->cursor);
    after = *parsed;
  }
  const auto state = call.plane.loop.state();
  PageWriter page(query->limit, query->fields);
  std::string next;
  if (!state->guaranteed->empty()) {
    auto open = open_book(call.plane, *state);
    if (!open) return std::unexpected(open.error());
    const auto live = call.plane.live.subnets();
    AgentGrades grades(call.plane, *state, open->book);
    JobId last;
    for (auto id = state->guaranteed->upper_bound(after); id != state->guaranteed->end(); ++id) {
      const JobPtr job = state->jobs.find(*id);
      if (tenant != nullptr && job->spec.tenant != *tenant) continue;
      const auto& gpus = job->placement.gpu_of_rank;
      const auto tables = tables_of(call.plane, *state, *open->book.routes(), subnets_of(*state, gpus));
      if (wanted != nullptr && *wanted != standing(*state, *job, live, tables)) continue;
      if (page.full()) {
        next = control::to_string(last);
        break;
      }
      page.add(write_guarantee(*state, open->book, *job, call.plane.loop.now_us(), live, tables, grades.of(*job)));
      last = *id;
    }
  }
  return Response::json(std::move(page).finish(next, state->seq));
}

Result<Response> list_guaranteed_links(const Call& call) {
  const auto top = read_number(call, "top", kMaxTop);
  if (!top) return std::unexpected(top.error());
  const auto state = call.plane.loop.state();
  auto open = open_book(call.plane, *state);
  if (!open) return std::unexpected(open.error());
  return Response::json(write_guaranteed_links(*state, open->book, top->value_or(kTop)));
}

// On the book of this worker thread: routing from scratch takes long, and the shared book answers others meanwhile.
Result<Response> get_reroute(const Call& call) {
  control::GuaranteeBook& book = worker_placers(call.plane).guarantees();
  const auto state = call.plane.loop.state();
  const auto proposal = control::plan_guarantee_routes(*state, book);
  if (!proposal) return std::unexpected(proposal.error());
  return Response::json(write_route_proposal(*state, *proposal, false));
}

// The best routes found are set, provided that the fabric is still the one they were found on.
Result<Response> post_reroute(const Call& call) {
  const auto request = read_drain_request(call.request.body, false, false);
  if (!request) return std::unexpected(request.error());
  control::GuaranteeBook& book = worker_placers(call.plane).guarantees();
  for (int attempts = 1;; ++attempts) {
    const auto state = call.plane.loop.state();
    const auto proposal = control::plan_guarantee_routes(*state, book);
    if (!proposal) return std::unexpected(proposal.error());
    if (proposal->costs.empty()) {
      return fail(ErrorKind::conflict, "guarantees.noOtherRoutes",
                  proposal->still_at_risk.empty() ? "no guarantee is at risk"
                                                  : "no other routes were found on which more guarantees would hold",
                  {}, "railweave jobs repair JOB --guarantee searches other nodes");
    }
    const auto result = decide_now(call, control::SetLinkCosts{proposal->costs, request->reason, state->view_version});
    if (result) return Response::json(write_route_proposal(*result->state, *proposal, true));
    const auto& rejection = result.error();
    if (rejection.error.code != "routes.viewChanged" || attempts == kMaxAttempts) return rejected(call, rejection);
  }
}

Result<Response> delete_reroute(const Call& call) {
  const auto force = read_flag(call, "force");
  if (!force) return std::unexpected(force.error());
  control::GuaranteeBook& book = worker_placers(call.plane).guarantees();
  for (int attempts = 1;; ++attempts) {
    const auto state = call.plane.loop.state();
    if (state->link_costs->by_link.empty()) return Response::empty();
    if (!*force) {
      const auto lapse = control::lapse_without_costs(*state, book);
      if (!lapse) return std::unexpected(lapse.error());
      if (!lapse->empty()) {
        std::string jobs;
        for (std::size_t i = 0; i < lapse->size() && i < 8; ++i) {
          jobs += fmt::format("{}{}", i == 0 ? "" : ", ", control::to_string((*lapse)[i]));
        }
        return fail(ErrorKind::conflict, "guarantees.wouldLapse",
                    fmt::format("without costs of links the guarantee{} of {}{} would not hold: {}{}",
                                lapse->size() == 1 ? "" : "s", lapse->size(), lapse->size() == 1 ? " job" : " jobs",
                                jobs, lapse->size() > 8 ? ", ..." : ""),
                    {}, "set force, or repair the links first");
      }
    }
    const auto result = decide_now(call, control::SetLinkCosts{{}, "not needed any more", state->view_version});
    if (result) return Response::empty();
    const auto& rejection = result.error();
    if (rejection.error.code != "routes.viewChanged" || attempts == kMaxAttempts) return rejected(call, rejection);
  }
}

Result<Response> get_switch_queues(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto sw = find_switch(state->topology(), call.request.param("id"));
  if (!sw) return std::unexpected(no_switch(call.request.param("id")));
  auto open = open_book(call.plane, *state);
  if (!open) return std::unexpected(open.error());
  return Response::json(write_switch_queues(*state, open->book, sw));
}

Result<Response> get_caps(const Call& call) {
  const auto state = call.plane.loop.state();
  auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  if (!(*job)->holds_gpus() || !(*job)->guarantee) {
    return fail(ErrorKind::conflict, "guarantees.none",
                fmt::format("{} has no guarantee now", control::to_string((*job)->id)), {},
                "GET /v1/guarantees lists the jobs that have one");
  }
  return Response::json(write_job_caps(*state, **job));
}

Result<Response> get_partition(const Call& call) {
  const auto state = call.plane.loop.state();
  auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  const auto allow_shared = read_flag(call, "allowShared");
  if (!allow_shared) return std::unexpected(allow_shared.error());
  return Response::json(write_job_partition(*state, **job, *allow_shared));
}

}  // namespace

void add_guarantee_routes(RouteTable& routes) {
  const RouteOptions compute{.compute = true}, heavy{.compute = true, .heavy = true};
  routes.get("/v1/guarantees",
             {.access = kViewers,
              .query = {"tenant", "state"},
              .page = PageLimits{},
              .by = AnsweredBy::leader,
              .http = compute},
             list_guarantees);
  routes.get("/v1/guarantees/reroute", {.access = kViewers, .by = AnsweredBy::leader, .http = heavy}, get_reroute);
  routes.post("/v1/guarantees/reroute", {.access = kOperators, .http = heavy}, post_reroute);
  routes.del("/v1/guarantees/reroute", {.access = kOperators, .query = {"force"}, .http = heavy}, delete_reroute);
  routes.get("/v1/guarantees/links", {.access = kViewers, .query = {"top"}, .http = compute}, list_guaranteed_links);
  routes.get("/v1/switches/{id}/queues", {.access = kViewers, .http = compute}, get_switch_queues);
  routes.get("/v1/jobs/{id}/caps", {.access = kViewersAndMembers}, get_caps);
  routes.get("/v1/jobs/{id}/partition", {.access = kViewersAndMembers, .query = {"allowShared"}}, get_partition);
}

}  // namespace railweave::api
