#include "services/rest/handlers/jobs/placed_what_if.h"

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

using SubmittedJob = std::shared_ptr<const control::Job>;

std::expected<SubmittedJob, control::Rejection> as_submitted(const control::SubmissionInput& in, const JobSpec& spec,
                                                             bool by_member) {
  if (auto over = control::over_min_runtime(*in.state.queue_rules, spec, by_member)) {
    return std::unexpected(control::as_answer(in.state, {std::move(*over), nullptr, {}}));
  }
  auto job = std::make_shared<control::Job>();
  job->id = in.state.jobs.next_id();
  job->spec = spec;
  job->submitted_us = in.now_us;
  return job;
}

TriedPlacement start(const control::SubmissionInput& in, const SubmittedJob& job, bool with_alternatives) {
  const auto attempt = [&] { return control::start_job(in, job, with_alternatives); };
  auto started = attempt();
  // On this thread there is time to compute every failure that the placement has to survive, some at each attempt.
  for (int attempts = 0; attempts < kMaxPlacementAttempts && !started && started.error().error.code == kFailuresUnknown;
       ++attempts) {
    started = attempt();
  }
  return started;
}

}  // namespace

Result<void> check_query(const ClusterState& state, const JobSpec& spec) {
  const auto tenant = state.tenants->find(spec.tenant);
  if (!spec.tenant.empty() && tenant == state.tenants->end()) {
    return std::unexpected(control::unknown_tenant(spec.tenant));
  }
  if (auto unknown = control::unknown_priority(*state.queue_rules, spec.priority)) return std::unexpected(*unknown);
  if (tenant != state.tenants->end()) {
    if (auto over = control::over_priority(*state.queue_rules, tenant->second, spec.priority)) {
      return std::unexpected(*over);
    }
  }
  return {};
}

TriedPlacement try_placement(const control::SubmissionInput& in, const JobSpec& spec, bool by_member,
                             bool with_alternatives) {
  const auto job = as_submitted(in, spec, by_member);
  if (!job) return std::unexpected(job.error());
  auto started = start(in, *job, with_alternatives);
  if (!started) started = std::unexpected(control::with_changes(in, *job, std::move(started.error())));
  return started;
}

TriedPlacement try_placement_alone(const control::SubmissionInput& in, const JobSpec& spec, bool by_member) {
  const auto job = as_submitted(in, spec, by_member);
  if (!job) return std::unexpected(job.error());
  auto started = start(in, *job, false);
  if (!started) started = std::unexpected(control::as_answer(in.state, std::move(started.error())));
  return started;
}

void take_shape(JobSpec& spec, const scheduler::PlacementResult& result) {
  for (const auto& shape : result.shapes) {
    if (shape.taken) spec.parallelism = shape.parallelism;
  }
}

void place_on(ClusterState& state, control::JobStart start, std::int64_t now_us) {
  for (auto& event : start.events) control::apply(state, {state.seq + 1, state.term, now_us, {}, std::move(event)});
}

}  // namespace railweave::api
