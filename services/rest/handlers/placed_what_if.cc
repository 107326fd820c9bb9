#include "services/rest/handlers/placed_what_if.h"

#include <memory>
#include <string_view>
#include <utility>

#include "services/control/decide/tenant_limit.h"
#include "services/control/events/apply.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using scheduler::JobSpec;

constexpr int kMaxPlacementAttempts = 1'000;
constexpr std::string_view kFailuresUnknown = "admission.tooManyFailures";

}  // namespace

Result<void> check_query(const ClusterState& state, const JobSpec& spec) {
  if (!spec.tenant.empty() && !state.tenants->contains(spec.tenant)) {
    return std::unexpected(control::unknown_tenant(spec.tenant));
  }
  if (auto unknown = control::unknown_priority(*state.queue_rules, spec.priority)) return std::unexpected(*unknown);
  return {};
}

TriedPlacement try_placement(control::PlacerCache& placers, std::int64_t now_us, const ClusterState& state,
                             const JobSpec& spec, bool with_alternatives) {
  const auto attempt = [&] { return control::admitted_placement(state, spec, placers, now_us, with_alternatives); };
  auto placed = attempt();
  // On this thread there is time to compute every failure that the placement has to survive, some at each attempt.
  for (int attempts = 0; attempts < kMaxPlacementAttempts && !placed && placed.error().error.code == kFailuresUnknown;
       ++attempts) {
    placed = attempt();
  }
  if (const auto tenant = state.tenants->find(spec.tenant); placed && tenant != state.tenants->end()) {
    auto over = control::over_gpu_limit(state, tenant->second, placed->result.placement.held_gpus().size());
    if (over) placed = std::unexpected(control::as_answer(state, {std::move(*over), nullptr, {}}));
  }
  return placed;
}

void place_on(ClusterState& state, const JobSpec& spec, control::AdmittedPlacement placed, std::int64_t now_us) {
  auto job = std::make_shared<control::Job>();
  job->id = state.jobs.next_id();
  job->spec = spec;
  job->submitted_us = now_us;
  job->placement = std::move(placed.result.placement);
  job->nodes = control::node_names(state.topology(), job->placement.gpu_of_rank);
  job->guarantee = std::move(placed.guarantee);
  control::apply(state, {state.seq + 1, state.term, now_us, {}, control::JobPlaced{std::move(job), ""}});
}

}  // namespace railweave::api
