#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "services/rest/handlers/fabric/fabric_lists.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/live/live_work.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/fabric/forwarding_table.h"
#include "services/rest/json/live/subnet.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::SubnetStatusPtr;

// Of the accepted topology in its order, then those that are only configured.
std::vector<ShownSubnet> all_subnets(const ControlPlane& plane, const ClusterState& state) {
  const auto& topology = state.topology();
  std::vector<ShownSubnet> subnets;
  for (const auto id : topology.subnets()) {
    const std::string name(topology.name(id));
    subnets.push_back({name, true, topology.kind(id), 0, 0, plane.live.subnet(name)});
  }
  for (const auto sw : topology.switches()) ++subnets[topology.subnet(sw).index()].switches;
  for (const auto port : topology.hca_ports()) {
    if (const auto subnet = topology.subnet(port)) ++subnets[subnet.index()].host_ports;
  }
  for (const auto& status : plane.live.subnets()) {
    bool accepted = false;
    for (const auto id : topology.subnets()) accepted = accepted || topology.name(id) == status->subnet;
    if (!accepted) subnets.push_back({.name = status->subnet, .live = status});
  }
  return subnets;
}

bool is_accepted(const fabric::Topology& topology, const std::string& name) {
  for (const auto id : topology.subnets()) {
    if (topology.name(id) == name) return true;
  }
  return false;
}

Error no_subnet(const std::string& name) {
  return {
      ErrorKind::notFound, "subnets.notFound", "there is no subnet '" + name + "'", {}, "GET /v1/subnets lists them"};
}

Error not_live(const std::string& name) {
  return {ErrorKind::conflict,
          "subnets.notLive",
          "there is no live connection to subnet '" + name + "'",
          {},
          "configure one: [[subnet]] in railweaved's configuration"};
}

// A subnet's ETag is that of its mode, which is what callers change; its other fields change all the time.
PresentVersion present_mode_of(const ClusterState& state, const std::string& name) {
  const auto policy = state.subnet_policies->find(name);
  const std::uint64_t version = policy == state.subnet_policies->end() ? 0 : policy->second.version;
  return {"the mode of subnet " + name, etag_of("mode", version), version};
}
PresentVersion present_mode(const ClusterState& state, const Request& request) {
  return present_mode_of(state, request.param("id"));
}

Result<Response> list_subnets(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const auto state = call.plane.loop.state();
  const auto from = read_cursor(query->cursor, state->accepted.version);
  if (!from) return std::unexpected(from.error());
  const auto subnets = all_subnets(call.plane, *state);
  PageWriter page(query->limit, query->fields);
  std::string next;
  for (std::size_t i = *from; i < subnets.size(); ++i) {
    if (page.full()) {
      next = make_cursor(state->accepted.version, i);
      break;
    }
    page.add(write_subnet(*state, subnets[i]));
  }
  return Response::json(std::move(page).finish(next, state->seq));
}

Result<Response> get_subnet(const Call& call) {
  const auto state = call.plane.loop.state();
  const std::string& name = call.request.param("id");
  for (const auto& subnet : all_subnets(call.plane, *state)) {
    if (subnet.name != name) continue;
    return Response::json(write_subnet(*state, subnet)).with("ETag", present_mode_of(*state, name).etag);
  }
  return std::unexpected(no_subnet(name));
}

Result<Submission> put_mode(const Call& call) {
  const auto request = read_mode_request(call.request.body);
  if (!request) return std::unexpected(request.error());
  const auto state = call.plane.loop.state();
  const std::string name = call.request.param("id");
  const bool live = call.plane.live.subnet(name) != nullptr;
  if (!live && !is_accepted(state->topology(), name)) return std::unexpected(no_subnet(name));
  if (!live && request->mode != control::SubnetMode::observe) return std::unexpected(not_live(name));
  const auto version = if_version(call, *state);
  if (!version) return std::unexpected(version.error());
  return Submission{
      control::SetSubnetMode{name, request->mode, request->reason, *version},
      [name](const control::Accepted& accepted) {
        const auto now = accepted.state->subnet_policies->find(name);
        const control::SubnetPolicy none;
        return Response::json(write_mode(name, now == accepted.state->subnet_policies->end() ? none : now->second))
            .with("ETag", present_mode_of(*accepted.state, name).etag);
      }};
}

Result<Submission> put_routing(const Call& call) {
  const auto request = read_spread_request(call.request.body);
  if (!request) return std::unexpected(request.error());
  const std::string name = call.request.param("id");
  if (!is_accepted(call.plane.loop.state()->topology(), name)) return std::unexpected(no_subnet(name));
  return Submission{
      control::SetSubnetSpread{name, request->spread, request->reason},
      [name](const control::Accepted& accepted) { return Response::json(write_spread(*accepted.state, name)); }};
}

Result<Submission> rotate_key(const Call& call) {
  const auto reason = read_rotation_request(call.request.body);
  if (!reason) return std::unexpected(reason.error());
  const std::string name = call.request.param("id");
  const auto live = call.plane.live.subnet(name);
  if (live == nullptr) {
    return std::unexpected(is_accepted(call.plane.loop.state()->topology(), name) ? not_live(name) : no_subnet(name));
  }
  if (!live->discovery.keys) {
    return fail(ErrorKind::conflict, "subnets.noKeys", "ports of subnet " + name + " have no management keys", {},
                "they get some in direct mode where key_file of its [[subnet]] is set");
  }
  return Submission{control::RotateSubnetKey{name, *reason}, [name](const control::Accepted& accepted) {
                      return Response::json(write_rotation(*accepted.state, name));
                    }};
}

Result<Response> get_sync(const Call& call) {
  return Response::json(write_sync(*call.plane.loop.state(), call.plane.live.subnets()));
}

// The subnets with live connections: the one named, else all. Error: there is none.
Result<std::vector<std::string>> live_subnets(const ControlPlane& plane, const std::string& name) {
  if (!name.empty()) {
    if (plane.live.subnet(name) != nullptr) return std::vector{name};
    return std::unexpected(is_accepted(plane.loop.state()->topology(), name) ? not_live(name) : no_subnet(name));
  }
  std::vector<std::string> names;
  for (const auto& status : plane.live.subnets()) names.push_back(status->subnet);
  if (names.empty()) {
    return fail(ErrorKind::conflict, "subnets.notLive", "there is no live connection to any subnet", {},
                "configure one: [[subnet]] in railweaved's configuration");
  }
  return names;
}

Result<Response> post_sync(LiveWork& work, const Call& call) {
  const auto* subnet = call.request.query("subnet");
  auto subnets = live_subnets(call.plane, subnet == nullptr ? std::string() : *subnet);
  if (!subnets) return std::unexpected(subnets.error());
  return operation_started(work.sync(*subnets));
}

Result<Response> post_discover(LiveWork& work, const Call& call) {
  auto request = read_discover_request(call.request.body);
  if (!request) return std::unexpected(request.error());
  const auto subnets = live_subnets(call.plane, request->subnet);
  if (!subnets) return std::unexpected(subnets.error());
  if (subnets->size() > 1) {
    const std::string names = fmt::format("{}", fmt::join(*subnets, ", "));
    return fail(ErrorKind::invalid, "subnets.ambiguous", "several subnets have live connections: name one", "/subnet",
                "one of " + names);
  }
  request->subnet = subnets->front();
  return operation_started(work.discover(std::move(*request), actor_of(call.request), origin_of(call.request)));
}

// The tables that a switch's entries are compared with, and the switch's id in their topology.
struct ShownTable {
  std::shared_ptr<const void> keeps;  // owns what `wanted` points to
  SubnetStatusPtr status;
  const fabric::Routing* wanted = nullptr;
  const fabric::Routing* applied = nullptr;
  fabric::SwitchId sw;
  std::int64_t seen_us = 0;  // unix: when the switch was last asked
};

Result<ShownTable> find_table(const ControlPlane& plane, const ClusterState& state, fabric::SwitchId sw) {
  const auto& topology = state.topology();
  ShownTable table;
  table.status = plane.live.subnet(topology.name(topology.subnet(sw)));
  if (table.status != nullptr && table.status->wanted != nullptr) {
    table.wanted = table.status->wanted.get();
    const auto& live = table.wanted->tables.scope().topology();
    table.sw = &live == &topology ? sw : live.find_switch(topology.name(sw));
  }
  if (!table.sw) {
    const auto routes = plane.routes->at(state);
    if (!routes) return std::unexpected(routes.error());
    table.keeps = *routes;
    table.wanted = &(*routes)->routing;
    table.sw = sw;
  }
  if (table.status == nullptr) return table;
  table.applied = table.status->applied.get();
  const auto& seen = table.status->tables_seen.by_switch;
  if (seen != nullptr && table.keeps == nullptr && table.sw == sw && sw.index() < seen->size())
    table.seen_us = (*seen)[sw.index()];
  return table;
}

Result<Response> get_table(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const auto lid = read_number(call, "lid", UINT16_MAX);
  if (!lid) return std::unexpected(lid.error());
  const auto state = call.plane.loop.state();
  const auto sw = find_switch(state->topology(), call.request.param("id"));
  if (!sw) return std::unexpected(no_switch(call.request.param("id")));
  const auto from = read_cursor(query->cursor, state->accepted.version);
  if (!from) return std::unexpected(from.error());
  const auto table = find_table(call.plane, *state, sw);
  if (!table) return std::unexpected(table.error());
  PageWriter page(query->limit, query->fields);
  std::string next;
  for (const auto& entry : table_of(table->sw, *table->wanted, table->applied)) {
    if (entry.lid < *from || (*lid && entry.lid != **lid)) continue;
    if (page.full()) {
      next = make_cursor(state->accepted.version, entry.lid);
      break;
    }
    page.add(write_table_entry(table->wanted->tables.scope(), table->sw, entry, table->seen_us));
  }
  return Response::json(std::move(page).finish(next, state->seq));
}

}  // namespace

void add_live_routes(RouteTable& routes, Operations& operations) {
  const RouteOptions compute{.compute = true};
  const auto work = std::make_shared<LiveWork>(routes.plane(), operations);
  routes.get("/v1/subnets", {.access = kViewers, .page = PageLimits{}, .by = AnsweredBy::leader, .http = compute},
             list_subnets);
  routes.get("/v1/subnets/{id}", {.access = kViewers, .by = AnsweredBy::leader, .http = compute}, get_subnet);
  routes.put("/v1/subnets/{id}/mode", {.access = kOperators, .present = present_mode}, put_mode);
  routes.put("/v1/subnets/{id}/routing", {.access = kOperators}, put_routing);
  routes.post("/v1/subnets/{id}/key", {.access = kOperators}, rotate_key);
  add_found_change_routes(routes);
  add_job_route_routes(routes);
  routes.get("/v1/fabric/sync", {.access = kViewers, .by = AnsweredBy::leader, .http = compute}, get_sync);
  routes.post("/v1/fabric/sync", {.access = kOperators, .query = {"subnet"}},
              [work](const Call& call) { return post_sync(*work, call); });
  routes.post("/v1/fabric/discover", {.access = kOperators},
              [work](const Call& call) { return post_discover(*work, call); });
  routes.get("/v1/switches/{id}/forwarding-table",
             {.access = kViewers, .query = {"lid"}, .page = PageLimits{}, .by = AnsweredBy::leader, .http = compute},
             get_table);
}

}  // namespace railweave::api
