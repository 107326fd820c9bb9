#include "services/rest/handlers/jobs/job_submission.h"

#include <utility>

#include <fmt/core.h>

#include "api/http/message/etag.h"
#include "services/rest/handlers/jobs/expected_start.h"
#include "services/rest/handlers/jobs/job_lookup.h"
#include "services/rest/handlers/jobs/queue_state.h"

namespace railweave::api {

using control::JobPtr;

Response job_answer(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job,
                    JobBeside beside, int status, const Viewer& viewer) {
  const std::string* own = viewer.tenant();
  if (beside.contention && own != nullptr) leave_own_tenant(state, *own, *beside.contention);
  if (beside.start && own != nullptr) leave_own_tenant(state, *own, *beside.start);
  const auto queue = plane.loop.queue();
  if (job.state == control::JobState::queued) beside.waits = wait_reason(*queue, job.id);
  const std::string digest = beside_digest(beside);
  const std::string id = fmt::format("{}.{}", control::to_string(job.id), job.version);
  return Response::json(write_job(job, state.placement_fabric->as_cabled(), viewer.reader(state), beside), status)
      .with("ETag", strong_etag(digest.empty() ? id : id + "-" + digest));
}

Problem refusal_for(const Request& request, const ControlPlane& plane, control::Rejection rejection) {
  const auto state = plane.loop.state();
  if (const std::string* own = own_tenant(request)) leave_own_tenant(*state, *own, rejection.links);
  const Viewer viewer(request);
  return to_problem(viewer.reader(*state), rejection);
}

void submit_for_job(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                    decltype(control::Command::body) command, MakeAnswer make) {
  const bool queued = call.plane.loop.submit(
      {actor_of(call.request), std::move(command), origin_of(call.request)},
      [&plane = call.plane, answers, respond, make = std::move(make)](const control::CommandResult& result) {
        if (!result) return void(respond(refusal_for(respond.request(), plane, result.error())));
        const JobPtr job = result->state->jobs.find(result->job);
        if (job == nullptr) return void(respond(Response::empty()));
        if (!job->holds_gpus()) return void(respond(make(*result, *job, {})));
        JobAnswers::Task task = [&plane, respond, make, accepted = *result, job] {
          respond(make(accepted, *job, beside_of(plane, *accepted.state, *job)));
        };
        const std::string* own = own_tenant(respond.request());
        if (!answers->run_later(own == nullptr ? std::string() : *own, task)) respond(make(*result, *job, {}));
      });
  if (!queued) respond(too_busy());
}

void submit_change(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                   decltype(control::Command::body) command) {
  submit_for_job(answers, call, respond, std::move(command),
                 [&plane = call.plane, viewer = Viewer(call.request)](const control::Accepted& accepted,
                                                                      const control::Job& job, JobBeside beside) {
                   return job_answer(plane, *accepted.state, job, std::move(beside), 200, viewer);
                 });
}

PresentVersion present_job(const control::ClusterState& state, const Request& request) {
  const std::string& id = request.param("id");
  const auto job = find_job(state, request);
  return job ? present_version(control::to_string((*job)->id), (*job)->version) : present_version(id, 0);
}

void add_problem(const Call& call, BatchAnswer& answer, const std::string& key, Problem problem) {
  problem.instance = call.request.target.path;
  const int status = problem.status;
  answer.add_problem(key, status, to_response(problem).body);
}

Result<void> hold_to_own_tenant(const Request& request, scheduler::JobSpec& spec) {
  const std::string* own = own_tenant(request);
  if (own == nullptr) return {};
  if (spec.tenant.empty()) spec.tenant = *own;
  if (spec.tenant == *own) return {};
  return fail(ErrorKind::invalid, "tenants.unknown", "there is no tenant '" + spec.tenant + "' for you", "/tenant",
              "your jobs are of tenant " + *own);
}

}  // namespace railweave::api
