// Which GPUs of a job send to which others: predicted, as its times are.
#include <chrono>
#include <mutex>
#include <optional>

#include "services/control/views/job_pairs.h"
#include "services/rest/handlers/jobs/job_lookup.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/jobs/job_traffic.h"

namespace railweave::api {
namespace {

constexpr std::chrono::milliseconds kPatienceForStep{500};

Result<Response> get_job_traffic(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  const auto pairs = control::job_pairs(*state, **job);
  auto& contention = *call.plane.contention;
  const std::unique_lock lock(contention.mutex, kPatienceForStep);
  if (lock) contention.book.bring_to(*state);
  const StepPeriodUs period_us = [&](control::JobId id) { return lock ? contention.book.period_us(id) : std::nullopt; };
  return Response::json(write_job_traffic(**job, pairs, period_us, state->seq));
}

}  // namespace

void add_job_traffic_routes(RouteTable& routes) {
  routes.get("/v1/jobs/{id}/traffic", {.access = kViewersAndMembers, .http = {.compute = true, .heavy = true}},
             get_job_traffic);
}

}  // namespace railweave::api
