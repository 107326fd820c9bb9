#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/routing/opensm/fdbs_text.h"
#include "services/json/digest.h"
#include "services/rest/handlers/fabric/changed_view.h"
#include "services/rest/handlers/fabric/end_ports.h"
#include "services/rest/handlers/fabric/fabric_lists.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/tables_of_answer.h"
#include "services/rest/json/fabric/link_traffic.h"
#include "services/rest/json/fabric/routes.h"

namespace railweave::api {
namespace {

using fabric::PortId;

constexpr std::size_t kMaxPaths = 256;

// The routes from each sending port: to the receiving ports on its rail, else to those of its plane.
std::vector<NamedTrace> trace_all(const control::FabricRoutes& routes, const std::vector<PortId>& from,
                                  const std::vector<PortId>& to) {
  const auto& scope = routes.scope();
  const auto& topology = scope.topology();
  std::vector<NamedTrace> traces;
  const auto add = [&](PortId a, PortId b) {
    const auto destination = scope.find(b);
    if (a == b || !destination || traces.size() >= kMaxPaths) return;
    traces.push_back(
        {a, b, trace_route(routes.input.view, routes.routing.tables, routes.routing.lanes, a, destination)});
  };
  const auto plane_of = [&](PortId port) {
    const auto sw = topology.switch_of(topology.peer(port));
    return sw ? scope.plane_of(sw) : fabric::PlaneId();
  };
  for (const PortId a : from) {
    const auto rail = topology.rail(a);
    const auto same_rail = [&](PortId b) { return rail && topology.rail(b) == rail && plane_of(a) == plane_of(b); };
    const bool on_rail = std::ranges::any_of(to, same_rail);
    for (const PortId b : to) {
      if (on_rail ? same_rail(b) : plane_of(a) == plane_of(b)) add(a, b);
    }
  }
  return traces;
}

Result<Response> get_path(const Call& call) {
  for (const char* name : {"from", "to"}) {
    if (call.request.query(name) != nullptr) continue;
    return fail(ErrorKind::invalid, "query.missingParameter", fmt::format("'{}' is missing", name), {},
                "?from=A&to=B: nodes, <node>/<device>, <guid>/<port> or lid:N");
  }
  const auto state = call.plane.loop.state();
  const auto routes = call.plane.routes->at(*state);
  if (!routes) return std::unexpected(routes.error());
  const auto from = find_end_ports(state->topology(), *call.request.query("from"));
  if (!from) return std::unexpected(from.error());
  const auto to = find_end_ports(state->topology(), *call.request.query("to"));
  if (!to) return std::unexpected(to.error());
  const auto traces = trace_all(**routes, *from, *to);
  if (traces.empty()) {
    return fail(ErrorKind::notFound, "routes.notJoined",
                "no network joins '" + *call.request.query("from") + "' and '" + *call.request.query("to") + "'", {},
                {});
  }
  std::set<std::string> subnets;
  for (const auto& trace : traces) {
    if (const auto subnet = state->topology().subnet(trace.from)) subnets.emplace(state->topology().name(subnet));
  }
  return Response::json(write_paths(state->topology(), *call.request.query("from"), *call.request.query("to"), traces,
                                    tables_of(call.plane, *state, **routes, subnets)));
}

// The end ports of nodes that jobs run on: what changes for them is written first.
std::vector<std::uint8_t> ports_of_jobs(const control::ClusterState& state, const fabric::RoutingScope& scope) {
  const auto& topology = state.topology();
  std::vector<std::uint8_t> urgent(scope.destinations().size(), 0);
  for (const auto id : scope.destinations()) {
    const auto& port = scope.destination(id).port;
    const auto host = port ? topology.host(topology.hca_of(port)) : fabric::HostId();
    if (host && state.allocations[host.index()].used != 0) urgent[id.index()] = 1;
  }
  return urgent;
}

Result<Response> post_diff(const Call& call) {
  const auto change = read_route_change(call.request.body);
  if (!change) return std::unexpected(change.error());
  const auto state = call.plane.loop.state();
  // Both as Railweave computes them: what another subnet manager would make of the change is not known.
  const auto before = call.plane.routes->wanted(*state);
  if (!before) return std::unexpected(before.error());
  auto view = changed_view(*state, *change);
  if (!view) return std::unexpected(view.error());
  const auto after = control::reroute(**before, std::move(*view));
  if (!after) return std::unexpected(after.error());
  const auto delta = compute_delta((*after)->input.view, (*before)->routing, (*after)->routing,
                                   {.urgent = ports_of_jobs(*state, (*before)->scope())});
  return Response::json(write_routes_diff(**before, **after, delta));
}

// Routes follow from the fabric, its view and the tables that were seen.
std::string routes_etag(const control::ClusterState& state, const std::string& what,
                        std::span<const control::TablesUsed> tables = {}) {
  std::uint64_t version = std::max(state.view_version, state.accepted.version);
  for (const auto& [subnet, in_force] : *state.subnet_tables) version = std::max(version, in_force.version);
  std::string seen;
  for (const auto& one : tables) seen += fmt::format("{}{}", one.subnet, one.seen_us);
  return run_etag(seen.empty() ? what : what + "." + sha256_hex(seen).substr(0, 12), version);
}

Result<Response> get_fdbs(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto* failed = call.request.query("failLink");
  const std::string etag = routes_etag(*state, "fdbs" + (failed == nullptr ? "" : "." + sha256_hex(*failed)));
  if (auto known = not_modified(call, etag)) return std::move(*known);
  auto routes = call.plane.routes->at(*state);
  if (!routes) return std::unexpected(routes.error());
  if (failed != nullptr) {
    RouteChange change;
    change.fail_links.push_back(*failed);
    auto view = changed_view(*state, change);
    if (!view) return std::unexpected(view.error());
    routes = control::reroute(**routes, std::move(*view));
    if (!routes) return std::unexpected(routes.error());
  }
  // Gigabytes on large fabrics: made as the client takes them, of routes that stay as they are.
  struct Dump {
    explicit Dump(control::FabricRoutesPtr of) : routes(std::move(of)), text(routes->routing.tables) {}
    const control::FabricRoutesPtr routes;
    fabric::FdbsText text;
  };
  auto dump = std::make_shared<Dump>(std::move(*routes));
  return Response::text([dump = std::move(dump)] { return dump->text.next(); }).with("ETag", etag);
}

Result<Response> get_routes(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto routes = call.plane.routes->at(*state);
  if (!routes) return std::unexpected(routes.error());
  const auto tables = tables_of(call.plane, *state, **routes);
  const std::string etag = routes_etag(*state, "routes", tables);
  if (auto known = not_modified(call, etag)) return std::move(*known);
  return Response::json(write_routes(**routes, state->accepted.version, tables)).with("ETag", etag);
}

Result<Response> get_audit(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto routes = call.plane.routes->at(*state);
  if (!routes) return std::unexpected(routes.error());
  const auto tables = tables_of(call.plane, *state, **routes);
  const std::string etag = routes_etag(*state, "audit", tables);
  if (auto known = not_modified(call, etag)) return std::move(*known);
  return Response::json(write_routes_audit(**routes, tables)).with("ETag", etag);
}

// What the job's own document waits for its book, at most.
constexpr std::chrono::milliseconds kPatienceForJobs{500};

Result<Response> get_link_traffic(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto link = state->topology().find_link(call.request.param("id"));
  if (!link) {
    return fail(ErrorKind::notFound, "links.notFound", "there is no link '" + call.request.param("id") + "'", {},
                "<guid>/<port>--<guid>/<port>; GET /v1/links lists them");
  }
  const auto routes = call.plane.routes->at(*state);
  LinkTraffic traffic;
  const auto first = static_cast<fabric::DirectedLink>(link.index() * 2);
  for (fabric::DirectedLink i = 0; routes && i < 2; ++i) {
    traffic.directions[i].crossings = control::crossings(**routes, first + i);
  }
  if (const std::unique_lock lock(call.plane.contention->mutex, kPatienceForJobs); lock) {
    call.plane.contention->book.bring_to(*state);
    for (fabric::DirectedLink i = 0; i < 2; ++i) {
      traffic.directions[i].jobs = call.plane.contention->book.on(first + i);
    }
  }
  return Response::json(write_link_traffic(*state, link, traffic, routes ? routes->get() : nullptr));
}

}  // namespace

void add_routing_routes(RouteTable& routes) {
  const RouteOptions compute{.compute = true}, heavy{.compute = true, .heavy = true};
  routes.get("/v1/routes", {.access = kViewers, .http = heavy}, get_routes);
  routes.get("/v1/routes/audit", {.access = kViewers, .http = heavy}, get_audit);
  routes.get("/v1/links/{id...}/traffic", {.access = kViewers, .http = heavy}, get_link_traffic);
  routes.get("/v1/routes/path", {.access = kViewers, .query = {"from", "to"}, .http = compute}, get_path);
  routes.get("/v1/routes/fdbs", {.access = kViewers, .query = {"failLink"}, .http = heavy}, get_fdbs);
  routes.post("/v1/routes/diff",
              {.access = kViewers,
               .by = AnsweredBy::any,
               .http = {.compute = true,
                        .heavy = true,
                        .body_limit_bytes = std::size_t{4} << 20U,
                        .consumes = {"application/json"}}},
              post_diff);
}

}  // namespace railweave::api
