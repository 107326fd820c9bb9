// What-ifs: where jobs would go, one or several after each other. They change nothing.
#include <memory>
#include <optional>
#include <utility>

#include "services/control/decide/tenant_limit.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/rest/handlers/expected_start.h"
#include "services/rest/handlers/job_submission.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/packet_marks.h"
#include "services/rest/handlers/placed_what_if.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/job_batch.h"
#include "services/rest/json/job_spec.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using scheduler::JobSpec;
// The network part of the answer. Borrows `tried`.
PlacementPromise promise_of(const ControlPlane& plane, const ClusterState& state, const JobSpec& spec,
                            const TriedPlacement& tried) {
  PlacementPromise promise;
  if (!tried) promise.blocked = &tried.error().links;
  if (!tried || !tried->guarantee) return promise;
  promise.guarantee = &*tried->guarantee;
  promise.reservation = tried->reservation.get();
  promise.marks = marks_of(plane, state, *tried->guarantee, tried->result.placement.gpu_of_rank);
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
  if (auto checked = check_query(*state, *spec); !checked) return std::unexpected(checked.error());
  auto placed = try_placement(worker_placers(call.plane), call.plane.loop.now_us(), *state, *spec, true);
  const std::string* own = own_tenant(call.request);
  if (own != nullptr && !placed) leave_own_tenant(*state, *own, placed.error().links);
  if (!placed && placed.error().placement == nullptr) return rejected(call, placed.error());
  const auto& result = placed ? placed->result : *placed.error().placement;
  const PlacementPromise promise = promise_of(call.plane, *state, *spec, placed);
  std::optional<control::JobContention> contention;
  if (placed) contention = contention_of(call.plane, *state, *spec, result.placement.gpu_of_rank);
  std::vector<scheduler::Contention> compared;
  if (contention) compared = contention_of(call.plane, *state, *spec, result.alternatives);
  if (own != nullptr && contention) leave_own_tenant(*state, *own, *contention);
  std::optional<control::ExpectedStart> start;
  if (result.outcome == scheduler::Outcome::not_now) start = expected_start(call.plane, *state, *spec);
  if (start && own != nullptr) leave_own_tenant(*own, *start);
  return Response::json(write_placement(*spec, result, *state->placement_fabric, *ranks, promise,
                                        contention ? &*contention : nullptr, compared, start ? &*start : nullptr));
}

// Each item on what the ones before it leave.
Result<Response> query_placements(const Call& call) {
  auto items = read_batch(call.request.body, false);
  if (!items) return std::unexpected(items.error());
  const auto ranks = read_flag(call, "ranks");
  if (!ranks) return std::unexpected(ranks.error());
  ClusterState state = *call.plane.loop.state();
  const std::uint64_t seq = state.seq;
  const std::int64_t now_us = call.plane.loop.now_us();
  const std::string* own = own_tenant(call.request);
  BatchAnswer answer;
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
    auto placed = try_placement(worker_placers(call.plane), now_us, state, spec, false);
    if (own != nullptr && !placed) leave_own_tenant(state, *own, placed.error().links);
    if (!placed && placed.error().placement == nullptr) {
      placed.error().error = item.located(std::move(placed.error().error));
      refuse(to_problem(placed.error()));
      continue;
    }
    const auto& result = placed ? placed->result : *placed.error().placement;
    answer.add_placement(item.key, write_placement(spec, result, *state.placement_fabric, *ranks,
                                                   promise_of(call.plane, state, spec, placed)));
    if (placed) place_on(state, spec, std::move(*placed), now_us);
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
