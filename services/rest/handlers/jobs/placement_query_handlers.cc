// What-ifs: where jobs would go, one or several after each other. They change nothing.
#include <memory>
#include <optional>
#include <utility>

#include "services/control/decide/gang.h"
#include "services/rest/handlers/jobs/expected_start.h"
#include "services/rest/handlers/jobs/job_submission.h"
#include "services/rest/handlers/jobs/packet_marks.h"
#include "services/rest/handlers/jobs/placed_what_if.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/jobs/job_batch.h"
#include "services/rest/json/jobs/job_spec.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using scheduler::JobSpec;
// The network part of the answer. Borrows `tried`.
PlacementPromise promise_of(const ControlPlane& plane, const ClusterState& state, const JobSpec& spec,
                            const TriedPlacement& tried) {
  PlacementPromise promise;
  if (!tried) promise.blocked = &tried.error().links;
  if (!tried || !tried->placed.guarantee) return promise;
  const auto& placed = tried->placed;
  promise.guarantee = &*placed.guarantee;
  promise.reservation = placed.reservation.get();
  promise.marks = marks_of(plane, state, *placed.guarantee, placed.result.placement.gpu_of_rank);
  const auto contract = state.contracts->find(spec.tenant);
  if (contract != state.contracts->end()) promise.pkey = contract->second.pkey | 0x8000U;
  return promise;
}

Result<Response> query_placement(const Call& call) {
  auto spec = read_job_spec(call.request.body);
  if (!spec) return std::unexpected(spec.error());
  if (auto held = hold_to_own_tenant(call.request, *spec); !held) return std::unexpected(held.error());
  const auto ranks = read_flag(call, "ranks");
  if (!ranks) return std::unexpected(ranks.error());
  const auto state = call.plane.loop.state();
  const std::string* own = own_tenant(call.request);
  if (auto checked = check_query(*state, *spec); !checked) return std::unexpected(checked.error());
  auto placed = try_placement({*state, worker_placers(call.plane), worker_queue(call.plane), call.plane.loop.now_us()},
                              *spec, own != nullptr, true);
  if (own != nullptr && !placed) leave_own_tenant(*state, *own, placed.error().links);
  if (!placed && placed.error().placement == nullptr) return rejected(call, placed.error());
  const auto& result = placed ? placed->placed.result : *placed.error().placement;
  take_shape(*spec, result);
  const PlacementPromise promise = promise_of(call.plane, *state, *spec, placed);
  std::optional<control::JobContention> contention;
  if (placed) contention = contention_of(call.plane, *state, *spec, result.placement.gpu_of_rank);
  std::vector<scheduler::Contention> compared;
  if (contention) compared = contention_of(call.plane, *state, *spec, result.alternatives);
  if (own != nullptr && contention) leave_own_tenant(*state, *own, *contention);
  std::optional<control::ExpectedStart> start;
  if (result.outcome == scheduler::Outcome::not_now) start = expected_start(call.plane, *state, *spec);
  if (start && own != nullptr) leave_own_tenant(*state, *own, *start);
  const Viewer viewer(call.request);
  return Response::json(write_placement(*spec, result, *state->placement_fabric, viewer.reader(*state), *ranks, promise,
                                        contention ? &*contention : nullptr, compared, start ? &*start : nullptr));
}

// Each item with the spec that its gang's rules lead to. False: one has no place, and all are answered.
Result<bool> plan(const Call& call, const ClusterState& state, BatchBody& batch, BatchAnswer& answer) {
  const std::string* own = own_tenant(call.request);
  std::vector<JobSpec> specs;
  for (auto& item : batch.items) {
    auto checked = hold_to_own_tenant(call.request, item.request->spec);
    if (checked) checked = check_query(state, item.request->spec);
    if (!checked) return std::unexpected(item.located(checked.error()));
    specs.push_back(item.request->spec);
  }
  const std::int64_t now_us = call.plane.loop.now_us();
  const auto start = [&](ClusterState& trial, std::size_t,
                         const control::PlannedRole& role) -> std::expected<control::JobId, control::Rejection> {
    const control::JobId job = trial.jobs.next_id();
    auto placed = try_placement({trial, worker_placers(call.plane), worker_queue(call.plane), now_us, role.place.get()},
                                role.spec, own != nullptr, false);
    if (!placed) return std::unexpected(std::move(placed.error()));
    place_on(trial, std::move(*placed), now_us);
    return job;
  };
  auto planned = control::plan_gang(state, {specs, batch.rules, batch.traffic}, worker_placers(call.plane), start);
  for (std::size_t i = 0; planned && i < specs.size(); ++i) {
    batch.items[i].request->spec = std::move((*planned)[i].spec);
    batch.items[i].request->place = std::move((*planned)[i].place);
  }
  if (planned) return true;
  auto& why = planned.error().why;
  const auto others = control::refused_with(specs[planned.error().item].name, why.error.kind == ErrorKind::impossible);
  if (own != nullptr) leave_own_tenant(state, *own, why.links);
  const Viewer viewer(call.request);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    control::Rejection refused = i == planned.error().item ? why : others;
    refused.error = batch.items[i].located(std::move(refused.error));
    add_problem(call, answer, batch.items[i].key, to_problem(viewer.reader(state), refused));
  }
  return false;
}

// Each item on what the ones before it leave.
Result<Response> query_placements(const Call& call) {
  auto batch = read_batch(call.request.body, false);
  if (!batch) return std::unexpected(batch.error());
  auto* const items = &batch->items;
  const auto ranks = read_flag(call, "ranks");
  if (!ranks) return std::unexpected(ranks.error());
  ClusterState state = *call.plane.loop.state();
  const std::uint64_t seq = state.seq;
  const std::int64_t now_us = call.plane.loop.now_us();
  const std::string* own = own_tenant(call.request);
  const Viewer viewer(call.request);
  BatchAnswer answer;
  if (batch->gang) {
    const auto planned = plan(call, state, *batch, answer);
    if (!planned) return std::unexpected(planned.error());
    if (!*planned) return Response::json(std::move(answer).finish(seq));
  }
  for (auto& item : *items) {
    const auto refuse = [&](Problem problem) { add_problem(call, answer, item.key, std::move(problem)); };
    if (!item.request) {
      refuse(to_problem(item.request.error()));
      continue;
    }
    JobSpec& spec = item.request->spec;
    auto checked = check_what_if(*item.request);
    if (checked) checked = hold_to_own_tenant(call.request, spec);
    if (checked) checked = check_query(state, spec);
    if (!checked) {
      refuse(to_problem(item.located(checked.error())));
      continue;
    }
    auto placed =
        try_placement({state, worker_placers(call.plane), worker_queue(call.plane), now_us, item.request->place.get()},
                      spec, own != nullptr, false);
    if (own != nullptr && !placed) leave_own_tenant(state, *own, placed.error().links);
    if (!placed && placed.error().placement == nullptr) {
      placed.error().error = item.located(std::move(placed.error().error));
      refuse(to_problem(viewer.reader(state), placed.error()));
      continue;
    }
    const auto& result = placed ? placed->placed.result : *placed.error().placement;
    take_shape(spec, result);
    answer.add_placement(item.key, write_placement(spec, result, *state.placement_fabric, viewer.reader(state), *ranks,
                                                   promise_of(call.plane, state, spec, placed)));
    if (placed) place_on(state, std::move(*placed), now_us);
  }
  return Response::json(std::move(answer).finish(seq));
}

}  // namespace

void add_placement_query_routes(RouteTable& routes) {
  const RouteOptions one{.compute = true, .consumes = {"application/json"}};
  const RouteOptions several{
      .compute = true, .heavy = true, .body_limit_bytes = kMaxBatchBytes, .consumes = {"application/json"}};
  routes.post("/v1/placements/query",
              {.access = kViewersAndMembers, .query = {"ranks"}, .by = AnsweredBy::any, .http = one}, query_placement);
  routes.post("/v1/placements/query/batch",
              {.access = kViewersAndMembers, .query = {"ranks"}, .by = AnsweredBy::any, .http = several},
              query_placements);
}

}  // namespace railweave::api
