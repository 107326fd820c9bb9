#include <memory>
#include <utility>
#include <vector>

#include "api/http/message/etag.h"
#include "services/rest/handlers/fabric_lists.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/live_work.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/forwarding_table.h"
#include "services/rest/json/page.h"
#include "services/rest/json/subnet.h"

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

// A subnet's tag is that of its mode, which is what can be changed; the rest of it changes all the time.
std::string mode_etag(const ClusterState& state, const std::string& name) {
  const auto policy = state.subnet_policies->find(name);
  return etag_of("mode", policy == state.subnet_policies->end() ? 0 : policy->second.version);
}

void list_subnets(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {});
  if (!query) return void(respond(query.error()));
  const auto state = plane.loop.state();
  const auto from = read_cursor(query->cursor, state->accepted.version);
  if (!from) return void(respond(from.error()));
  const auto subnets = all_subnets(plane, *state);
  PageWriter page(query->limit, query->fields);
  std::string next;
  for (std::size_t i = *from; i < subnets.size(); ++i) {
    if (page.full()) {
      next = make_cursor(state->accepted.version, i);
      break;
    }
    page.add(write_subnet(*state, subnets[i]));
  }
  respond(Response::json(std::move(page).finish(next, state->seq)));
}

void get_subnet(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  const std::string& name = request.param("id");
  for (const auto& subnet : all_subnets(plane, *state)) {
    if (subnet.name != name) continue;
    respond(Response::json(write_subnet(*state, subnet)).with("ETag", mode_etag(*state, name)));
    return;
  }
  respond(no_subnet(name));
}

void put_mode(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto wish = read_mode_request(request.body);
  if (!wish) return void(respond(wish.error()));
  const auto state = plane.loop.state();
  const std::string name = request.param("id");
  const bool live = plane.live.subnet(name) != nullptr;
  if (!live && !is_accepted(state->topology(), name)) return void(respond(no_subnet(name)));
  if (!live && wish->mode != control::SubnetMode::observe) return void(respond(not_live(name)));
  control::SetSubnetMode command{name, wish->mode, wish->reason, std::nullopt};
  const auto policy = state->subnet_policies->find(name);
  const std::uint64_t version = policy == state->subnet_policies->end() ? 0 : policy->second.version;
  switch (if_match(request.headers, mode_etag(*state, name))) {
    case Precondition::absent:
      break;
    case Precondition::holds:
      command.if_version = version;
      break;
    case Precondition::fails:
      return void(respond(Error{ErrorKind::precondition,
                                "precondition.versionDiffers",
                                "the mode of subnet " + name + " is at version " + std::to_string(version) + " now",
                                {},
                                "read it again, then repeat the change"}));
  }
  submit(plane, {actor_of(request), std::move(command)}, respond, [name](const control::Accepted& accepted) {
    const auto now = accepted.state->subnet_policies->find(name);
    const control::SubnetPolicy none;
    return Response::json(write_mode(name, now == accepted.state->subnet_policies->end() ? none : now->second))
        .with("ETag", mode_etag(*accepted.state, name));
  });
}

void get_sync(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  respond(Response::json(write_sync(*plane.loop.state(), plane.live.subnets())));
}

Response under_way(const std::string& operation) {
  return Response::json(R"({"operation":")" + operation + R"("})", 202).with("Location", "/v1/operations/" + operation);
}

// Whose connection is meant: the one named, else all; the error where there is none.
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

void post_sync(const ControlPlane& plane, LiveWork& work, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {"subnet"}); !checked) return void(respond(checked.error()));
  const auto* subnet = request.query("subnet");
  auto subnets = live_subnets(plane, subnet == nullptr ? std::string() : *subnet);
  if (!subnets) return void(respond(subnets.error()));
  respond(under_way(work.sync(std::move(*subnets))));
}

void post_discover(const ControlPlane& plane, LiveWork& work, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  auto wish = read_discover_request(request.body);
  if (!wish) return void(respond(wish.error()));
  const auto subnets = live_subnets(plane, wish->subnet);
  if (!subnets) return void(respond(subnets.error()));
  if (subnets->size() > 1) {
    std::string names;
    for (const auto& name : *subnets) names += (names.empty() ? "" : ", ") + name;
    return void(respond(Error{ErrorKind::invalid, "subnets.ambiguous",
                              "several subnets have connections: which one is meant?", "/subnet", "one of " + names}));
  }
  wish->subnet = subnets->front();
  respond(under_way(work.discover(std::move(*wish), actor_of(request))));
}

// What a switch's table is compared with, and where the switch is in it.
struct ShownTable {
  std::shared_ptr<const void> keeps;  // what the pointers refer into
  SubnetStatusPtr status;
  const fabric::Routing* wanted = nullptr;
  const fabric::Routing* applied = nullptr;
  fabric::SwitchId sw;
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
  if (table.status != nullptr) table.applied = table.status->applied.get();
  return table;
}

void get_table(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {"lid"});
  if (!query) return void(respond(query.error()));
  std::optional<std::uint64_t> lid;
  if (const auto* text = request.query("lid")) {
    const auto number = parse_number("lid", *text, UINT16_MAX);
    if (!number) return void(respond(number.error()));
    lid = *number;
  }
  const auto state = plane.loop.state();
  const auto sw = find_switch(state->topology(), request.param("id"));
  if (!sw) {
    return void(respond(Error{ErrorKind::notFound,
                              "switches.notFound",
                              "there is no switch '" + request.param("id") + "'",
                              {},
                              "a name, a GUID or lid:N; GET /v1/switches lists them"}));
  }
  const auto from = read_cursor(query->cursor, state->accepted.version);
  if (!from) return void(respond(from.error()));
  const auto table = find_table(plane, *state, sw);
  if (!table) return void(respond(table.error()));
  PageWriter page(query->limit, query->fields);
  std::string next;
  for (const auto& entry : table_of(table->sw, *table->wanted, table->applied)) {
    if (entry.lid < *from || (lid && entry.lid != *lid)) continue;
    if (page.full()) {
      next = make_cursor(state->accepted.version, entry.lid);
      break;
    }
    page.add(write_table_entry(table->wanted->tables.scope(), table->sw, entry));
  }
  respond(Response::json(std::move(page).finish(next, state->seq)));
}

}  // namespace

void add_live_routes(Router& router, const ControlPlane& plane, Operations& operations) {
  const RouteOptions compute{.compute = true};
  const auto work = std::make_shared<LiveWork>(plane, operations);
  const auto get = [&](std::string_view path, void (*handler)(const ControlPlane&, const Request&, const Responder&)) {
    router.get(path, [&plane, handler](const Request& q, Responder r) { handler(plane, q, r); }, compute);
  };
  get("/v1/subnets", list_subnets);
  get("/v1/subnets/{id}", get_subnet);
  router.put("/v1/subnets/{id}/mode", [&plane](const Request& q, Responder r) { put_mode(plane, q, r); });
  get("/v1/fabric/sync", get_sync);
  router.post("/v1/fabric/sync", [&plane, work](const Request& q, Responder r) { post_sync(plane, *work, q, r); });
  router.post("/v1/fabric/discover",
              [&plane, work](const Request& q, Responder r) { post_discover(plane, *work, q, r); });
  get("/v1/switches/{id}/forwarding-table", get_table);
}

}  // namespace railweave::api
