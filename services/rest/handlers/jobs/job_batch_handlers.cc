// Many submissions as one command: one transaction, an answer for each.
#include <utility>
#include <vector>

#include "services/rest/access/key_owner.h"
#include "services/rest/handlers/jobs/job_submission.h"
#include "services/rest/handlers/jobs/queue_state.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/jobs/job_batch.h"

namespace railweave::api {
namespace {

// Of an item that the control loop has decided.
void add_decided(const Call& call, const control::ClusterState& state, const BatchItem& item,
                 const control::Accepted::Item& outcome, BatchAnswer& answer) {
  if (outcome.refused != nullptr) {
    control::Rejection rejection = *outcome.refused;
    rejection.error = item.located(std::move(rejection.error));
    return add_problem(call, answer, item.key, refusal_for(call.request, call.plane, std::move(rejection)));
  }
  const auto job = state.jobs.find(outcome.job);
  if (job == nullptr) {
    return add_problem(call, answer, item.key,
                       to_problem(Error{ErrorKind::conflict,
                                        "idempotency.jobEnded",
                                        control::to_string(outcome.job) + " has ended and is not kept any more",
                                        {},
                                        {}}));
  }
  const auto queue = call.plane.loop.queue();
  const Viewer viewer(call.request);
  JobBeside beside;
  if (job->state == control::JobState::queued) beside.waits = wait_reason(*queue, job->id);
  answer.add_job(item.key, outcome.replayed ? 200 : 201,
                 write_job(*job, state.placement_fabric->as_cabled(), viewer.reader(state), beside));
}

Result<Response> submit_jobs(const Call& call) {
  auto batch = read_batch(call.request.body, true);
  if (!batch) return std::unexpected(batch.error());
  auto* const items = &batch->items;
  const bool by_member = own_tenant(call.request) != nullptr;
  const std::string owner = key_owner(call.request);
  control::SubmitJobs command{
      .items = {}, .gang = batch->gang, .rules = std::move(batch->rules), .traffic = std::move(batch->traffic)};
  for (auto& item : *items) {
    if (!item.request) continue;
    JobRequest& request = *item.request;
    if (auto held = hold_to_own_tenant(call.request, request.spec); !held) {
      if (command.gang) return std::unexpected(item.located(held.error()));
      item.request = std::unexpected(item.located(held.error()));
      continue;
    }
    command.items.push_back({std::move(request.spec), item.key, owner, item.digest, request.queue,
                             request.not_before_us, by_member, std::move(request.adopt), request.launch});
  }
  control::Accepted accepted;
  accepted.state = call.plane.loop.state();
  if (!command.items.empty()) {
    auto decided = decide_now(call, std::move(command));
    if (!decided) return rejected(call, decided.error());
    accepted = std::move(*decided);
  }
  BatchAnswer answer;
  std::size_t next = 0;
  for (const auto& item : *items) {
    if (!item.request) {
      add_problem(call, answer, item.key, to_problem(item.request.error()));
    } else {
      add_decided(call, *accepted.state, item, accepted.items.at(next++), answer);
    }
  }
  return Response::json(std::move(answer).finish(accepted.state->seq));
}

}  // namespace

void add_job_batch_routes(RouteTable& routes) {
  const RouteOptions batch{.compute = true, .body_limit_bytes = kMaxBatchBytes, .consumes = {"application/json"}};
  routes.post("/v1/jobs/batch", {.access = kOperatorsAndMembers, .http = batch}, submit_jobs);
}

}  // namespace railweave::api
