#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/topology/site_link_name.h"
#include "services/rest/handlers/fabric/drain_state.h"
#include "services/rest/handlers/fabric/fabric_lists.h"
#include "services/rest/handlers/fabric/link_reports.h"
#include "services/rest/handlers/fabric/node_facts.h"
#include "services/rest/handlers/fabric/topology_import.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/fabric/fabric.h"
#include "services/rest/json/fabric/fabric_map.h"
#include "services/rest/json/fabric/link.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

using control::DrainKind;

constexpr std::uint64_t kMaxGpusGiven = 100'000;  // of a node, or an NVLink domain
constexpr std::size_t kMaxTopologyBytes = std::size_t{256} << 20U;

Result<TopologyImport> read_import(const Call& call) {
  const Request& request = call.request;
  TopologyImport import;
  import.source = "request body";
  ImportedFile file;
  const auto* format = request.query("format");
  const bool bundle = format != nullptr && *format == "files";
  if (format != nullptr && *format != "auto" && !bundle) {
    const auto parsed = fabric::parse_format(*format);
    if (!parsed) {
      std::string names = "auto, files";
      for (const auto known : fabric::all_formats()) names += ", " + std::string(fabric::to_string(known));
      return fail(ErrorKind::invalid, "topology.unknownFormat", "there is no format '" + *format + "'", {},
                  "the formats are " + names);
    }
    file.format = *parsed;
  }
  if (const auto* source = request.query("source")) import.source = source->substr(0, 200);
  if (const auto* hosts = request.query("hosts")) import.hosts = hosts->substr(0, 253);
  if (const auto* subnet = request.query("subnet")) import.subnet = subnet->substr(0, 100);
  for (const auto& [name, into] :
       {std::pair("gpusPerNode", &import.gpus_per_node), std::pair("nvlinkDomain", &import.nvlink_domain_gpus)}) {
    const auto number = read_number(call, name, kMaxGpusGiven);
    if (!number) return std::unexpected(number.error());
    if (*number) *into = static_cast<unsigned>(**number);
  }
  auto merge = read_flag(call, "merge");
  if (!merge) return std::unexpected(merge.error());
  import.merge = *merge;
  if (bundle) {
    auto files = read_file_bundle(request.body);
    if (!files) {
      files.error().code = "input.files";
      return std::unexpected(files.error());
    }
    import.files = std::move(*files);
  } else {
    file.text = request.body;
    file.source = import.source;
    import.files.push_back(std::move(file));
  }
  return import;
}

PresentVersion present_topology(const control::ClusterState& state, const Request& /*request*/) {
  return present_version("topology", state.accepted.version);
}

// Where the outcome of an import goes: to the caller, or, with "Prefer: respond-async" (RFC 7240), to an operation
// whose id the caller gets at once.
struct ImportOutcome {
  Responder respond;
  Operations* operations = nullptr;  // null: to the caller
  std::string operation;

  void fail(const control::Rejection& rejection) const {
    if (operations != nullptr) return operations->fail(operation, rejection.error);
    respond(to_problem(MessageReader::all(), rejection));
  }
  void succeed(const control::ClusterState& state) const {
    std::string body = write_import(state);
    if (operations != nullptr) return operations->succeed(operation, std::move(body));
    respond(Response::json(std::move(body)).with("ETag", etag_of("topology", state.accepted.version)));
  }
};

Result<void> put_topology(Operations& operations, const Call& call, const Responder& respond) {
  auto import = read_import(call);
  if (!import) return std::unexpected(import.error());
  auto force = read_flag(call, "force");
  if (!force) return std::unexpected(force.error());
  auto repair = read_flag(call, "repair");
  if (!repair) return std::unexpected(repair.error());
  const auto state = call.plane.loop.state();
  auto version = if_version(call, *state);
  if (!version) return std::unexpected(version.error());

  const std::string& body = call.request.body;
  ImportOutcome outcome{respond, nullptr, {}};
  if (call.request.headers.value("Prefer").find("respond-async") != std::string_view::npos) {
    outcome.operations = &operations;
    outcome.operation = operations.begin("topology.import");
    operations.progress(outcome.operation, 0, body.size(), "bytes");
    respond(operation_started(outcome.operation));
  }
  auto imported = import_topology(*import, state->topology());
  if (!imported) {
    outcome.fail({imported.error(), nullptr});
    return {};
  }
  if (outcome.operations != nullptr) operations.progress(outcome.operation, body.size(), body.size(), "bytes");
  control::AcceptTopology command{std::move(imported->topology),
                                  std::move(imported->document),
                                  std::move(imported->digest),
                                  import->source,
                                  *force,
                                  *version,
                                  *repair};
  const auto result = decide_now(call, std::move(command));
  if (!result) {
    outcome.fail(result.error());
    return {};
  }
  // What the first request would wait for is computed before the import is said to be done.
  (void)call.plane.routes->at(*result->state);
  (void)worker_placers(call.plane).at(*result->state);
  outcome.succeed(*result->state);
  return {};
}

Result<Response> get_topology(const Call& call) {
  const auto state = call.plane.loop.state();
  return with_etag(call, Response::json(fabric::write_native_json(state->topology())),
                   etag_of("topology", state->accepted.version));
}

Result<Response> get_fabric(const Call& call) {
  const auto state = call.plane.loop.state();
  return with_etag(call, Response::json(write_fabric(*state)), etag_of("fabric", state->seq));
}

Result<Response> get_findings(const Call& call) {
  return Response::json(write_findings(fabric::check_fabric(call.plane.loop.state()->topology())));
}

// Counters of a link's ends, at present or as they were.
MapCounters map_counters(const ControlPlane& plane, const fabric::Topology& topology, fabric::LinkId link,
                         std::optional<std::int64_t> at_us) {
  MapCounters out;
  const auto add = [&](std::optional<double> load, const control::PortCounters::Errors* errors) {
    if (load) out.use = std::max(out.use.value_or(0), *load);
    if (errors == nullptr) return;
    if (!out.errors_per_hour) out.errors_per_hour.emplace();
    for (std::size_t i = 0; i < errors->size(); ++i) (*out.errors_per_hour)[i] += (*errors)[i];
  };
  for (const auto port : {topology.a(link), topology.b(link)}) {
    if (at_us) {
      if (const auto then = plane.live.counters_at(topology, port, *at_us)) add(then->load, &then->errors_per_hour);
    } else if (const auto now = plane.live.counters(topology, port)) {
      add(now->utilisation, now->errors_per_hour ? &*now->errors_per_hour : nullptr);
    }
  }
  return out;
}

constexpr std::chrono::milliseconds kPatienceForLoads{500};

// The job that the map is to tell apart. Its cables are empty where what jobs send is still being worked out.
Result<MapJob> job_on_map(const Call& call, const control::ClusterState& state, const std::string& id) {
  const auto parsed = control::parse_job_id(id);
  MapJob shown{parsed ? state.jobs.find(*parsed) : nullptr, {}};
  if (shown.job == nullptr) {
    return fail(ErrorKind::notFound, "jobs.notFound", "there is no job '" + id + "'", {}, "GET /v1/jobs lists them");
  }
  if (const std::unique_lock lock(call.plane.contention->mutex, kPatienceForLoads); lock) {
    call.plane.contention->book.bring_to(state);
    for (const auto& sent : call.plane.contention->book.sent_by(shown.job->id)) {
      auto& mbps = shown.mbps[static_cast<std::uint32_t>(fabric::link_of(sent.link).index())];
      mbps = std::max(mbps, sent.mbps);
    }
  }
  return shown;
}

Result<Response> get_fabric_map(const Call& call) {
  std::optional<std::int64_t> at_us;
  if (const auto* text = call.request.query("at")) {
    at_us = parse_time_us(*text);
    if (!at_us) {
      return fail(ErrorKind::invalid, "query.invalidTime", "'" + *text + "' is no time", {},
                  "like 2026-11-21T09:00:00Z (RFC 3339)");
    }
  }
  const auto state = call.plane.loop.state();
  const auto* within = call.request.query("within");
  const bool live = !call.plane.live.subnets().empty();
  const LinkSightings seen(call.plane.live, *state);
  const LinkCounters counters = [&](fabric::LinkId link) {
    if (!live) return MapCounters();
    MapCounters known = map_counters(call.plane, state->topology(), link, at_us);
    if (at_us) return known;
    known.is_unknown = seen.unseen_since(link).has_value();
    const auto* flapping = seen.flapping(link);
    known.is_held = flapping != nullptr && flapping->is_held;
    return known;
  };
  std::optional<MapJob> job;
  if (const auto* id = call.request.query("job")) {
    auto found = job_on_map(call, *state, *id);
    if (!found) return std::unexpected(found.error());
    job = std::move(*found);
  }
  auto map = write_fabric_map(*state, within == nullptr ? std::string() : *within, counters, job ? &*job : nullptr);
  if (!map) return std::unexpected(map.error());
  return Response::json(std::move(*map));
}

Result<Response> get_node(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto host = state->topology().find_host(call.request.param("id"));
  if (!host) {
    return fail(ErrorKind::notFound, "nodes.notFound", "there is no node '" + call.request.param("id") + "'", {},
                "GET /v1/nodes lists them");
  }
  return Response::json(
      write_node(*state, host, shown_drain(call.plane, *state, DrainKind::node, call.request.param("id"))));
}

// Computed on a topology that must still be the present one when it is decided.
template <class Answer>
Result<Response> set_nodes(const Call& call, std::span<const NodeFacts> facts, const std::string& source,
                           Answer answer) {
  constexpr int kMaxTries = 5;
  for (int tries = 1;; ++tries) {
    const auto state = call.plane.loop.state();
    auto changed = with_node_facts(state->topology(), facts);
    if (!changed) return std::unexpected(changed.error());
    const auto result = decide_now(
        call, control::AcceptTopology{std::move(changed->topology), std::move(changed->document),
                                      std::move(changed->digest), source, false, state->accepted.version, false});
    if (result) {
      return answer(*result->state);
    }
    if (result.error().error.kind != ErrorKind::precondition || tries == kMaxTries) {
      return rejected(call, result.error());
    }
  }
}

Result<Response> patch_node(const Call& call) {
  const auto facts = read_node_facts(call.request.param("id"), call.request.body);
  if (!facts) return std::unexpected(facts.error());
  if (const auto state = call.plane.loop.state(); !state->topology().find_host(facts->node)) {
    return fail(ErrorKind::notFound, "nodes.notFound", "there is no node '" + facts->node + "'", {},
                "GET /v1/nodes lists them");
  }
  return set_nodes(call, std::span(&*facts, 1), "facts of " + facts->node, [&](const control::ClusterState& state) {
    return Response::json(write_node(state, state.topology().find_host(facts->node),
                                     shown_drain(call.plane, state, DrainKind::node, facts->node)));
  });
}

Result<Response> patch_nodes(const Call& call) {
  const auto facts = read_inventory(call.request.body);
  if (!facts) return std::unexpected(facts.error());
  return set_nodes(call, *facts, fmt::format("an inventory of {} nodes", facts->size()),
                   [](const control::ClusterState& state) { return Response::json(write_fabric(state)); });
}

Result<Response> get_switch(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto sw = find_switch(state->topology(), call.request.param("id"));
  if (!sw) {
    return std::unexpected(no_switch(call.request.param("id")));
  }
  const std::string name(state->topology().name(sw));
  return Response::json(write_switch(*state, sw, shown_drain(call.plane, *state, DrainKind::network_switch, name)));
}

Result<Response> get_link(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto& topology = state->topology();
  const auto link = topology.find_link(call.request.param("id"));
  if (link) {
    LinkDetails details = link_details(call.plane, *state, topology.link_text(link));
    details.counters = {call.plane.live.counters(topology, topology.a(link)),
                        call.plane.live.counters(topology, topology.b(link))};
    details.unread = {why_unread(call.plane, topology, topology.a(link)),
                      why_unread(call.plane, topology, topology.b(link))};
    return Response::json(write_link(*state, link, LinkSightings(call.plane.live, *state), details));
  }
  if (const auto far = fabric::find_site_link(topology, call.request.param("id"))) {
    return Response::json(
        write_link(*state, far, link_details(call.plane, *state, fabric::site_link_text(topology, far))));
  }
  return std::unexpected(no_link(call.request.param("id")));
}

Result<Response> get_domain(const Call& call) {
  const auto state = call.plane.loop.state();
  for (const auto domain : state->topology().nvlink_domains()) {
    if (state->topology().name(domain) == call.request.param("id")) {
      return Response::json(write_nvlink_domain(*state, domain));
    }
  }
  return fail(ErrorKind::notFound, "nvlinkDomains.notFound",
              "there is no NVLink domain '" + call.request.param("id") + "'", {}, "GET /v1/nvlink-domains lists them");
}

}  // namespace

void add_fabric_routes(RouteTable& routes, Operations& operations) {
  const RouteOptions compute{.compute = true};
  const auto page = [&](std::vector<std::string_view> filters) {
    return RouteRules{.access = kViewers, .query = std::move(filters), .page = PageLimits{}, .http = compute};
  };
  routes.get("/v1/fabric", {.access = kViewersAndMembers, .http = compute}, get_fabric);
  routes.get("/v1/fabric/map",
             {.access = kViewers, .query = {"within", "at", "job"}, .by = AnsweredBy::leader, .http = compute},
             get_fabric_map);
  routes.get("/v1/fabric/findings", {.access = kViewers, .http = compute}, get_findings);
  routes.get("/v1/fabric/topology", {.access = kViewers, .http = compute}, get_topology);
  routes.put(
      "/v1/fabric/topology",
      {.access = kOperators,
       .query = {"format", "source", "subnet", "gpusPerNode", "nvlinkDomain", "hosts", "merge", "force", "repair"},
       .any_body = true,
       .http = {.compute = true, .heavy = true, .body_limit_bytes = kMaxTopologyBytes},
       .present = present_topology},
      [&operations](const Call& call, const Responder& respond) { return put_topology(operations, call, respond); });
  routes.get("/v1/nodes", page({"rack", "kind", "name"}), list_nodes);
  routes.get("/v1/nodes/{id}", {.access = kViewers, .http = compute}, get_node);
  const RouteOptions changes{.compute = true, .body_limit_bytes = kMaxTopologyBytes, .consumes = {"application/json"}};
  routes.patch("/v1/nodes", {.access = kOperators, .http = changes}, patch_nodes);
  routes.patch("/v1/nodes/{id}", {.access = kOperators, .http = changes}, patch_node);
  routes.get("/v1/switches", page({"tier", "subnet"}), list_switches);
  routes.get("/v1/switches/{id}", {.access = kViewers, .http = compute}, get_switch);
  // What live subnets see is known to who follows them.
  RouteRules links = page({"kind", "switch", "node"});
  links.by = AnsweredBy::leader;
  routes.get("/v1/links", std::move(links), list_links);
  routes.post("/v1/links/{id...}/report", {.access = kOperators, .http = compute}, post_link_report);
  routes.post("/v1/links/{id...}/release", {.access = kOperators}, post_link_release);
  routes.get("/v1/links/{id...}", {.access = kViewers, .by = AnsweredBy::leader, .http = compute}, get_link);
  routes.get("/v1/nvlink-domains", page({}), list_nvlink_domains);
  routes.get("/v1/nvlink-domains/{id}", {.access = kViewers, .http = compute}, get_domain);
  routes.get("/v1/rails", page({}), list_rails);
  routes.get("/v1/racks", page({}), list_racks);
}

}  // namespace railweave::api
