#include "services/rest/handlers/job_change.h"

#include <utility>

#include "api/http/message/etag.h"
#include "services/rest/handlers/job_lookup.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/queue_state.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/json/job.h"

namespace railweave::api {
namespace {

using control::JobPtr;

// A member reads of full links what its own jobs hold of them, and the sums.
Problem refusal_for(const Request& request, const ControlPlane& plane, control::Rejection rejection) {
  if (const std::string* own = own_tenant(request)) leave_own_tenant(*plane.loop.state(), *own, rejection.links);
  return to_problem(rejection);
}

}  // namespace

Response job_answer(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job,
                    std::optional<control::JobContention> contention, int status, bool to_member) {
  if (contention && to_member) leave_own_tenant(state, job.spec.tenant, *contention);
  const auto queue = plane.loop.queue();
  const auto* waits = job.state == control::JobState::queued ? wait_reason(*queue, job.id) : nullptr;
  const auto* beside = contention ? &*contention : nullptr;
  const std::string digest = contention_digest(beside);
  const std::string id = control::to_string(job.id) + "." + std::to_string(job.version);
  return Response::json(write_job(job, state.placement_fabric->as_cabled(), waits, beside), status)
      .with("ETag", strong_etag(digest.empty() ? id : id + "-" + digest));
}

void submit_for_job(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                    decltype(control::Command::body) command, MakeAnswer make) {
  const bool queued = call.plane.loop.submit(
      {actor_of(call.request), std::move(command), origin_of(call.request)},
      [&plane = call.plane, answers, respond, make = std::move(make)](const control::CommandResult& result) {
        if (!result) return void(respond(refusal_for(respond.request(), plane, result.error())));
        const JobPtr job = result->state->jobs.find(result->job);
        if (job == nullptr) return void(respond(Response::empty()));
        if (!job->holds_gpus()) return void(respond(make(*result, *job, std::nullopt)));
        JobAnswers::Task task = [&plane, respond, make, accepted = *result, job] {
          respond(make(accepted, *job, contention_of(plane, *accepted.state, *job)));
        };
        if (!answers->run_later(task)) respond(make(*result, *job, std::nullopt));
      });
  if (!queued) respond(too_busy());
}

void submit_change(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                   decltype(control::Command::body) command) {
  submit_for_job(answers, call, respond, std::move(command),
                 [&plane = call.plane, to_member = own_tenant(call.request) != nullptr](
                     const control::Accepted& accepted, const control::Job& job, const auto& contention) {
                   return job_answer(plane, *accepted.state, job, contention, 200, to_member);
                 });
}

PresentVersion present_job(const control::ClusterState& state, const Request& request) {
  const std::string& id = request.param("id");
  const auto job = find_job(state, request);
  return job ? present_version(control::to_string((*job)->id), (*job)->version) : present_version(id, 0);
}

}  // namespace railweave::api
