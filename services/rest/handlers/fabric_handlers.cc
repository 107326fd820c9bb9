#include <utility>

#include "fabric/formats/native/native_json.h"
#include "services/rest/handlers/drain_state.h"
#include "services/rest/handlers/fabric_lists.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/topology_import.h"
#include "services/rest/json/fabric.h"
#include "services/rest/json/link.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

using control::DrainKind;

constexpr std::size_t kMaxTopologyBytes = std::size_t{256} << 20U;

Result<TopologyImport> read_import(const Request& request) {
  if (auto checked =
          check_query(request, {"format", "source", "subnet", "gpusPerNode", "nvlinkDomain", "merge", "force"});
      !checked) {
    return std::unexpected(checked.error());
  }
  TopologyImport import;
  import.source = "request body";
  if (const auto* format = request.query("format"); format != nullptr && *format != "auto") {
    const auto parsed = fabric::parse_format(*format);
    if (!parsed) {
      std::string names = "auto";
      for (const auto known : fabric::all_formats()) names += ", " + std::string(fabric::to_string(known));
      return fail(ErrorKind::invalid, "topology.unknownFormat", "there is no format '" + *format + "'", {},
                  "the formats are " + names);
    }
    import.format = *parsed;
  }
  if (const auto* source = request.query("source")) import.source = source->substr(0, 200);
  if (const auto* subnet = request.query("subnet")) import.subnet = subnet->substr(0, 100);
  for (const auto& [name, into] :
       {std::pair("gpusPerNode", &import.gpus_per_node), std::pair("nvlinkDomain", &import.nvlink_domain_gpus)}) {
    if (const auto* text = request.query(name)) {
      auto number = parse_number(name, *text, 100'000);
      if (!number) return std::unexpected(number.error());
      *into = static_cast<unsigned>(*number);
    }
  }
  auto merge = read_flag(request, "merge");
  if (!merge) return std::unexpected(merge.error());
  import.merge = *merge;
  return import;
}

void put_topology(const ControlPlane& plane, Operations& operations, const Request& request, const Responder& respond) {
  auto import = read_import(request);
  if (!import) return void(respond(import.error()));
  auto force = read_flag(request, "force");
  if (!force) return void(respond(force.error()));
  const auto state = plane.loop.state();
  auto version = wanted_version(request, "topology", state->accepted.version);
  if (!version) return void(respond(version.error()));

  // Long work: with "Prefer: respond-async" (RFC 7240) the answer comes first and the outcome is an operation.
  const bool async = request.headers.value("Prefer").find("respond-async") != std::string_view::npos;
  const std::string operation = async ? operations.begin("topology.import") : std::string();
  if (async) {
    operations.progress(operation, 0, request.body.size(), "bytes");
    respond(
        Response::json(R"({"operation":")" + operation + R"("})", 202).with("Location", "/v1/operations/" + operation));
  }
  import->text = request.body;
  auto imported = import_topology(*import, state->topology());
  if (!imported) {
    if (async) return operations.fail(operation, imported.error());
    return void(respond(imported.error()));
  }
  if (async) operations.progress(operation, request.body.size(), request.body.size(), "bytes");
  control::AcceptTopology command{std::move(imported->topology),
                                  std::move(imported->document),
                                  std::move(imported->digest),
                                  import->source,
                                  *force,
                                  *version};
  const bool queued = plane.loop.submit(
      {actor_of(request), std::move(command)},
      [respond, async, operation, &operations](const control::CommandResult& result) {
        if (!result) {
          if (async) return operations.fail(operation, result.error().error);
          return reply(respond, result.error());
        }
        std::string body = write_fabric(*result->state);
        if (async) return operations.succeed(operation, std::move(body));
        respond(Response::json(std::move(body)).with("ETag", etag_of("topology", result->state->accepted.version)));
      });
  if (queued) return;
  const Error busy{ErrorKind::busy, "service.busy", "too many changes are waiting", {}, "try again in a second"};
  if (async) return operations.fail(operation, busy);
  respond(busy);
}

void get_topology(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  respond(with_etag(request, Response::json(fabric::write_native_json(state->topology())),
                    etag_of("topology", state->accepted.version)));
}

void get_fabric(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  respond(with_etag(request, Response::json(write_fabric(*state)), etag_of("fabric", state->seq)));
}

void get_findings(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  respond(Response::json(write_findings(fabric::check_fabric(plane.loop.state()->topology()))));
}

void get_node(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  const auto host = state->topology().find_host(request.param("id"));
  if (!host) {
    return void(respond(Error{ErrorKind::notFound,
                              "nodes.notFound",
                              "there is no node '" + request.param("id") + "'",
                              {},
                              "GET /v1/nodes lists them"}));
  }
  respond(Response::json(write_node(*state, host, shown_drain(plane, *state, DrainKind::node, request.param("id")))));
}

void get_switch(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  const auto sw = find_switch(state->topology(), request.param("id"));
  if (!sw) {
    return void(respond(Error{ErrorKind::notFound,
                              "switches.notFound",
                              "there is no switch '" + request.param("id") + "'",
                              {},
                              "a name, a GUID or lid:N; GET /v1/switches lists them"}));
  }
  const std::string name(state->topology().name(sw));
  respond(Response::json(write_switch(*state, sw, shown_drain(plane, *state, DrainKind::network_switch, name))));
}

void get_link(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  const auto link = state->topology().find_link(request.param("id"));
  if (!link) {
    return void(respond(Error{ErrorKind::notFound,
                              "links.notFound",
                              "there is no link '" + request.param("id") + "'",
                              {},
                              "<guid>/<port>--<guid>/<port>; GET /v1/links lists them"}));
  }
  LinkDetails details;
  const auto& topology = state->topology();
  const std::string id = topology.link_text(link);
  details.drain = shown_drain(plane, *state, DrainKind::link, id);
  details.counters = {plane.live.counters(topology, topology.a(link)), plane.live.counters(topology, topology.b(link))};
  for (const auto& [key, alarm] : *state->alarms) {
    if (alarm.subject_kind == "link" && alarm.subject_id == id) details.alarms.push_back(&alarm);
  }
  respond(Response::json(write_link(*state, link, details)));
}

void get_domain(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  for (const auto domain : state->topology().nvlink_domains()) {
    if (state->topology().name(domain) == request.param("id")) {
      return void(respond(Response::json(write_nvlink_domain(*state, domain))));
    }
  }
  respond(Error{ErrorKind::notFound,
                "nvlinkDomains.notFound",
                "there is no NVLink domain '" + request.param("id") + "'",
                {},
                "GET /v1/nvlink-domains lists them"});
}

}  // namespace

void add_fabric_routes(Router& router, const ControlPlane& plane, Operations& operations) {
  const RouteOptions compute{.compute = true};
  const auto get = [&](std::string_view path, void (*handler)(const ControlPlane&, const Request&, const Responder&)) {
    router.get(path, [&plane, handler](const Request& q, Responder r) { handler(plane, q, r); }, compute);
  };
  get("/v1/fabric", get_fabric);
  get("/v1/fabric/findings", get_findings);
  get("/v1/fabric/topology", get_topology);
  router.put("/v1/fabric/topology",
             [&plane, &operations](const Request& q, Responder r) { put_topology(plane, operations, q, r); },
             {.compute = true, .body_limit_bytes = kMaxTopologyBytes, .consumes = {}});
  get("/v1/nodes", list_nodes);
  get("/v1/nodes/{id}", get_node);
  get("/v1/switches", list_switches);
  get("/v1/switches/{id}", get_switch);
  get("/v1/links", list_links);
  get("/v1/links/{id...}", get_link);
  get("/v1/nvlink-domains", list_nvlink_domains);
  get("/v1/nvlink-domains/{id}", get_domain);
  get("/v1/rails", list_rails);
  get("/v1/racks", list_racks);
  add_live_routes(router, plane, operations);
  add_drain_routes(router, plane);
  add_alarm_routes(router, plane);
}

}  // namespace railweave::api
