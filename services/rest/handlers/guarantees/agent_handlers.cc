// What agents on the nodes limit inside the classes, and what they report of it. Reports are readings of the leader's memory.
#include <chrono>

#include <fmt/core.h>

#include "services/rest/handlers/guarantees/agent_clock.h"
#include "services/rest/handlers/guarantees/open_book.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/guarantees/host_budgets.h"

namespace railweave::api {
namespace {

Result<fabric::HostId> node_of(const Call& call, const control::ClusterState& state) {
  const std::string& name = call.request.param("id");
  if (const std::string* own = own_node(call.request); own != nullptr && *own != name) {
    return fail(ErrorKind::notFound, "nodes.notFound",
                "there is no node '" + name + "' for the agent of node '" + *own + "'", {},
                "each node's agent shows a token of its own");
  }
  const auto host = state.topology().find_host(name);
  if (host) return host;
  return fail(ErrorKind::notFound, "nodes.notFound", "there is no node '" + name + "'", {}, "GET /v1/nodes lists them");
}

// The versions follow the state that answers; both are taken under the agents' mutex, so that neither is behind the other.
Result<Response> get_budgets(const Call& call) {
  control::NodeAgents& agents = *call.plane.agents;
  control::ClusterStatePtr state;
  std::vector<control::JobId> jobs;
  HostBudgets budgets;
  {
    const std::lock_guard lock(agents.mutex);
    state = call.plane.loop.state();
    agents.versions.bring_to(*state);
    const auto host = node_of(call, *state);
    if (!host) return std::unexpected(host.error());
    budgets.host = *host;
    budgets.version = agents.versions.version_of(*host);
    jobs = agents.versions.jobs_on(*host);
  }
  const bool may_report = call.request.caller == nullptr || kOperatorsAndAgents.allows(call.request.caller->role);
  if (may_report) budgets.exchange_secret = call.plane.exchange_secret;
  const std::string etag = run_etag(
      fmt::format("{}{}.{}", may_report ? "budgets." : "budgets.shown.", call.request.param("id"), state->leader.term),
      budgets.version);
  if (auto same = not_modified(call, etag)) return std::move(*same);
  auto open = open_book(call.plane, *state);
  if (!open) return std::unexpected(open.error());
  const auto ports = control::host_budgets(*state, open->book, budgets.host, jobs);
  budgets.ports = ports;
  return with_etag(call, Response::json(write_host_budgets(*state, open->book, budgets)), etag);
}

Result<Response> get_report(const Call& call) {
  control::NodeAgents& agents = *call.plane.agents;
  const std::lock_guard lock(agents.mutex);
  const auto state = call.plane.loop.state();
  const auto host = node_of(call, *state);
  if (!host) return std::unexpected(host.error());
  agents.versions.bring_to(*state);
  const auto now_ms = agent_clock_ms();
  return Response::json(write_budget_report(*state, *host, agents.versions.version_of(*host),
                                            agents.kept(state->topology(), *host, now_ms), now_ms));
}

Result<Response> put_report(const Call& call) {
  const auto report = read_budget_report(call.request.body);
  if (!report) return std::unexpected(report.error());
  control::NodeAgents& agents = *call.plane.agents;
  const auto state = call.plane.loop.state();
  const auto host = node_of(call, *state);
  if (!host) return std::unexpected(host.error());
  auto open = open_book(call.plane, *state);
  if (!open) return std::unexpected(open.error());
  const std::lock_guard lock(agents.mutex);
  agents.versions.bring_to(*state);
  const auto budgets = control::host_budgets(*state, open->book, *host, agents.versions.jobs_on(*host));
  const auto now_ms = agent_clock_ms();
  auto kept = agents.report(*state, *host, *report, budgets, now_ms);
  if (!kept) return std::unexpected(kept.error());
  return Response::json(
      write_budget_report(*state, *host, agents.versions.version_of(*host), std::move(*kept), now_ms));
}

}  // namespace

void add_agent_routes(RouteTable& routes) {
  const RouteOptions compute{.compute = true}, report{.compute = true, .body_limit_bytes = 8U << 20U};
  routes.get("/v1/nodes/{id}/budgets", {.access = kViewersAndAgents, .by = AnsweredBy::leader, .http = compute},
             get_budgets);
  routes.get("/v1/nodes/{id}/budgets/report", {.access = kViewersAndAgents, .by = AnsweredBy::leader}, get_report);
  routes.put("/v1/nodes/{id}/budgets/report", {.access = kOperatorsAndAgents, .http = report}, put_report);
}

}  // namespace railweave::api
