#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fabric/routing/opensm/opensm_dumps.h"
#include "services/rest/handlers/end_ports.h"
#include "services/rest/handlers/fabric_lists.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/routes.h"

namespace railweave::api {
namespace {

using control::FabricRoutesPtr;
using control::RoutingCache;
using fabric::PortId;

constexpr std::size_t kMaxPaths = 256;

// The ways from each of the sending ports: to the receiving ports on its rail, else to those of its plane.
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

void get_path(const ControlPlane& plane, RoutingCache& cache, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {"from", "to"}); !checked) return void(respond(checked.error()));
  for (const char* name : {"from", "to"}) {
    if (request.query(name) != nullptr) continue;
    return void(respond(Error{ErrorKind::invalid,
                              "query.missingParameter",
                              std::string("'") + name + "' is missing",
                              {},
                              "?from=A&to=B: nodes, <node>/<device>, <guid>/<port> or lid:N"}));
  }
  const auto state = plane.loop.state();
  const auto routes = cache.at(*state);
  if (!routes) return void(respond(routes.error()));
  const auto from = find_end_ports(state->topology(), *request.query("from"));
  if (!from) return void(respond(from.error()));
  const auto to = find_end_ports(state->topology(), *request.query("to"));
  if (!to) return void(respond(to.error()));
  const auto traces = trace_all(**routes, *from, *to);
  if (traces.empty()) {
    return void(respond(Error{ErrorKind::notFound,
                              "routes.notJoined",
                              "no network joins '" + *request.query("from") + "' and '" + *request.query("to") + "'",
                              {},
                              {}}));
  }
  respond(Response::json(write_paths(state->topology(), *request.query("from"), *request.query("to"), traces)));
}

// The state's view with the change made to it.
Result<fabric::FabricView> changed_view(const control::ClusterState& state, const RouteChange& change) {
  const auto& topology = state.topology();
  fabric::FabricView view = state.view;
  for (const auto* names : {&change.fail_links, &change.drain_links}) {
    for (const auto& name : *names) {
      const auto link = topology.find_link(name);
      if (!link) {
        return fail(ErrorKind::notFound, "links.notFound", "there is no link '" + name + "'", {},
                    "<guid>/<port>--<guid>/<port>; GET /v1/links lists them");
      }
      if (names == &change.fail_links) {
        view.set_state(link, fabric::LinkState::down);
      } else {
        view.set_drained(link, true);
      }
    }
  }
  for (const auto* names : {&change.fail_switches, &change.drain_switches}) {
    for (const auto& name : *names) {
      const auto sw = find_switch(topology, name);
      if (!sw) {
        return fail(ErrorKind::notFound, "switches.notFound", "there is no switch '" + name + "'", {},
                    "a name, a GUID or lid:N; GET /v1/switches lists them");
      }
      if (names == &change.drain_switches) {
        view.set_drained(sw, true);
        continue;
      }
      for (const PortId port : topology.ports(sw)) {
        if (const auto link = topology.link(port)) view.set_state(link, fabric::LinkState::down);
      }
    }
  }
  return view;
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

void post_diff(const ControlPlane& plane, RoutingCache& cache, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto change = read_route_change(request.body);
  if (!change) return void(respond(change.error()));
  const auto state = plane.loop.state();
  const auto before = cache.at(*state);
  if (!before) return void(respond(before.error()));
  auto view = changed_view(*state, *change);
  if (!view) return void(respond(view.error()));
  const auto after = control::reroute(**before, std::move(*view));
  if (!after) return void(respond(after.error()));
  const auto delta = compute_delta((*after)->input.view, (*before)->routing, (*after)->routing,
                                   {.urgent = ports_of_jobs(*state, (*before)->scope())});
  respond(Response::json(write_routes_diff(**before, **after, delta)));
}

void get_fdbs(const ControlPlane& plane, RoutingCache& cache, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {"failLink"}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  auto routes = cache.at(*state);
  if (!routes) return void(respond(routes.error()));
  if (const auto* link = request.query("failLink")) {
    RouteChange change;
    change.fail_links.push_back(*link);
    auto view = changed_view(*state, change);
    if (!view) return void(respond(view.error()));
    routes = control::reroute(**routes, std::move(*view));
    if (!routes) return void(respond(routes.error()));
  }
  respond(Response::text(fabric::write_fdbs((*routes)->routing.tables)));
}

}  // namespace

void add_routing_routes(Router& router, const ControlPlane& plane) {
  const RouteOptions compute{.compute = true};
  const auto cache = plane.routes;
  router.get(
      "/v1/routes",
      [&plane, cache](const Request& request, const Responder& respond) {
        if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
        const auto state = plane.loop.state();
        const auto routes = cache->at(*state);
        if (!routes) return void(respond(routes.error()));
        respond(Response::json(write_routes(**routes, state->accepted.version)));
      },
      compute);
  router.get(
      "/v1/routes/audit",
      [&plane, cache](const Request& request, const Responder& respond) {
        if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
        const auto routes = cache->at(*plane.loop.state());
        if (!routes) return void(respond(routes.error()));
        respond(Response::json(write_routes_audit(**routes)));
      },
      compute);
  router.get(
      "/v1/routes/path", [&plane, cache](const Request& q, Responder r) { get_path(plane, *cache, q, r); }, compute);
  router.get(
      "/v1/routes/fdbs", [&plane, cache](const Request& q, Responder r) { get_fdbs(plane, *cache, q, r); }, compute);
  router.post("/v1/routes/diff", [&plane, cache](const Request& q, Responder r) { post_diff(plane, *cache, q, r); },
              {.compute = true, .body_limit_bytes = std::size_t{4} << 20U, .consumes = {"application/json"}});
}

}  // namespace railweave::api
