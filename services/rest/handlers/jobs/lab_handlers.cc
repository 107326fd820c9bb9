// Planning: places jobs on a generated or uploaded fabric, and fails parts of it. All of it in a state of its own that ends
// with the answer.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/formats/gpu/attach_gpus.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/formats/read_fabric.h"
#include "fabric/generate/generate.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/json/digest.h"
#include "services/rest/handlers/fabric/changed_view.h"
#include "services/rest/handlers/jobs/job_submission.h"
#include "services/rest/handlers/jobs/placed_what_if.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/fabric/fabric.h"
#include "services/rest/json/fabric/fabric_map.h"
#include "services/rest/json/jobs/lab.h"

namespace railweave::api {
namespace {

using control::ClusterState;

// What one request may keep a worker busy with; `railweave lab` has no such bounds.
constexpr std::size_t kMaxLabGpus = 16'384, kMaxLabLinks = 100'000;
constexpr std::uint64_t kMaxLabNumber = 16'384;  // of a generator's parameter

std::unexpected<Error> lab_too_large(std::string message) {
  return fail(ErrorKind::impossible, "lab.tooLarge", std::move(message), "/fabric",
              "`railweave lab` plans with fabrics of any size");
}

// A reader's or a generator's error, told as this route's.
std::unexpected<Error> bad_fabric(Error error) {
  return fail(ErrorKind::invalid, "lab.badFabric", std::move(error.message),
              error.location.empty() ? "/fabric" : error.location, std::move(error.hint));
}

Result<fabric::Topology> generated_fabric(const LabRequest::Generated& wanted) {
  for (const auto& [name, text] : wanted.parameters) {
    const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && !whole_number<std::uint64_t>(text, kMaxLabNumber)) {
      return lab_too_large(fmt::format("'{}' is above {}", name, kMaxLabNumber));
    }
  }
  auto topology =
      fabric::generate(wanted.kind, fabric::GenerateParameters(wanted.parameters.begin(), wanted.parameters.end()));
  if (!topology) return bad_fabric(std::move(topology.error()));
  return topology;
}

Result<fabric::Topology> uploaded_fabric(const LabRequest::File& file) {
  const auto format = fabric::parse_format(file.format);
  if (!format && file.format != "auto") {
    return fail(ErrorKind::invalid, "body.invalidField", "is no format of a file", "/fabric/file/format");
  }
  fabric::TopologyBuilder builder;
  const fabric::ReadOptions options{.source = "uploaded file", .subnet = "default"};
  if (auto read = fabric::read_into(file.text, format.value_or(fabric::Format::unknown), options, builder); !read)
    return bad_fabric(read.error());
  if (file.gpus_per_node > 0) {
    fabric::GpuAttachment plan;
    plan.gpus_per_node = file.gpus_per_node;
    plan.nvlink_domain_gpus = file.nvlink_domain_gpus == 0 ? file.gpus_per_node : file.nvlink_domain_gpus;
    if (auto attached = fabric::attach_gpus(builder, plan); !attached) return bad_fabric(attached.error());
  }
  auto topology = std::move(builder).build();
  if (!topology) return bad_fabric(std::move(topology.error()));
  return topology;
}

// The state to plan in.
Result<ClusterState> lab_state(const Call& call, const LabRequest& request) {
  if (!request.generated && !request.file) return *call.plane.loop.state();
  auto topology = request.generated ? generated_fabric(*request.generated) : uploaded_fabric(*request.file);
  if (!topology) return std::unexpected(topology.error());
  if (topology->gpus().size() > kMaxLabGpus || topology->links().size() > kMaxLabLinks) {
    return lab_too_large(fmt::format("the fabric has {} GPUs and {} links; planned with are at most {} and {}",
                                     topology->gpus().size(), topology->links().size(), kMaxLabGpus, kMaxLabLinks));
  }
  ClusterState state;
  control::TopologyAccepted accepted;
  accepted.topology = std::make_shared<const fabric::Topology>(std::move(*topology));
  accepted.digest = sha256_hex(fabric::write_native_json(*accepted.topology));  // without one there is no fabric
  accepted.source = request.generated ? "generated: " + request.generated->kind : "uploaded file";
  control::apply(state, {1, 1, call.plane.loop.now_us(), "lab", std::move(accepted)});
  return state;
}

// Each job on what the ones before it leave. state: gets them.
struct LabJobs {
  const std::vector<BatchItem>& items;
  bool ranks = false;
};
BatchAnswer place_all(const Call& call, const std::shared_ptr<control::RoutingCache>& routing, ClusterState& state,
                      const LabJobs& jobs) {
  control::PlacerCache placers(routing);
  control::QueueRunner queue(placers, 0);
  const std::int64_t now_us = call.plane.loop.now_us();
  BatchAnswer answer;
  for (const auto& item : jobs.items) {
    const auto refuse = [&](Problem problem) { add_problem(call, answer, item.key, std::move(problem)); };
    if (!item.request) {
      refuse(to_problem(item.request.error()));
      continue;
    }
    auto checked = check_what_if(*item.request);
    if (checked) checked = check_query(state, item.request->spec);
    if (!checked) {
      refuse(to_problem(item.located(checked.error())));
      continue;
    }
    scheduler::JobSpec spec = item.request->spec;
    auto placed = try_placement({state, placers, queue, now_us}, spec, false, false);
    if (!placed && placed.error().placement == nullptr) {
      placed.error().error = item.located(std::move(placed.error().error));
      refuse(to_problem(MessageReader::all(), placed.error()));
      continue;
    }
    const auto& result = placed ? placed->placed.result : *placed.error().placement;
    take_shape(spec, result);
    answer.add_placement(item.key,
                         write_placement(spec, result, *state.placement_fabric, MessageReader::all(), jobs.ranks, {}));
    if (placed) place_on(state, std::move(*placed), now_us);
  }
  return answer;
}

void adopt_view(ClusterState& state, const fabric::FabricView& view) {
  const auto& topology = state.topology();
  for (const auto link : topology.links()) {
    const bool is_as_seen = state.view.state(link) == view.state(link) && state.view.rate(link) == view.rate(link);
    if (!is_as_seen) state.set_link(link, view.state(link), view.rate_seen(link));
    if (state.view.drained(link) != view.drained(link)) {
      state.mark({control::DrainKind::link, topology.link_text(link)}, view.drained(link));
    }
  }
  for (const auto sw : topology.switches()) {
    if (state.view.drained(sw) == view.drained(sw)) continue;
    state.mark({control::DrainKind::network_switch, std::string(topology.name(sw))}, view.drained(sw));
  }
  state.rejoin_sites();
  state.view_version = state.queue_version = ++state.seq;
}

std::string map_of(const ClusterState& state) {
  auto map = write_fabric_map(state, {}, [](fabric::LinkId) { return MapCounters(); });
  return map ? std::move(*map) : std::string();
}

Result<Response> post_lab(const Call& call) {
  auto request = read_lab_request(call.request.body);
  if (!request) return std::unexpected(request.error());
  const auto ranks = read_flag(call, "ranks");
  if (!ranks) return std::unexpected(ranks.error());
  const auto base = lab_state(call, *request);
  if (!base) return std::unexpected(base.error());
  std::optional<fabric::FabricView> changed;
  if (request->change) {
    auto view = changed_view(*base, *request->change);
    if (!view) return std::unexpected(view.error());
    changed = std::move(*view);
  }

  LabAnswer answer;
  ClusterState state = *base;
  // A plan is made on what Railweave would compute, whatever switches hold now.
  state.subnet_tables = std::make_shared<const control::SubnetTablesTable>();
  const bool own = request->generated || request->file;
  const auto routing = own ? std::make_shared<control::RoutingCache>() : call.plane.routes;
  const auto before = routing->at(state);
  if (before) {
    answer.routes = write_routes_audit(**before, {});
  } else {
    answer.routes_problem = before.error().message;
  }
  answer.placements = place_all(call, routing, state, {request->jobs, *ranks}).items();
  answer.fabric = write_fabric(state);
  answer.map = map_of(state);
  if (changed) {
    LabAnswer::After& after = answer.after.emplace();
    ClusterState failed = state;
    adopt_view(failed, *changed);
    if (before) {
      const auto rerouted = control::reroute(**before, *changed);
      if (!rerouted) return std::unexpected(rerouted.error());
      const auto delta = compute_delta((*rerouted)->input.view, (*before)->routing, (*rerouted)->routing, {});
      after.routes = write_routes_diff(**before, **rerouted, delta);
    }
    after.placements = place_all(call, routing, failed, {request->jobs, *ranks}).items();
    after.map = map_of(failed);
  }
  return Response::json(write_lab(answer));
}

}  // namespace

void add_lab_routes(RouteTable& routes) {
  routes.post("/v1/lab",
              {.access = kViewers,
               .query = {"ranks"},
               .by = AnsweredBy::any,
               .http = {.compute = true,
                        .heavy = true,
                        .body_limit_bytes = LabRequest::kMaxBytes,
                        .consumes = {"application/json"}}},
              post_lab);
}

}  // namespace railweave::api
