// What launchers say of the jobs that they start and end.
#include <memory>
#include <utility>

#include "services/rest/handlers/jobs/job_lookup.h"
#include "services/rest/handlers/jobs/job_submission.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/jobs/launch.h"

namespace railweave::api {
namespace {

using control::LaunchPhase;

Result<void> advance_launch(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                            LaunchPhase phase) {
  const auto state = call.plane.loop.state();
  const auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  submit_change(answers, call, respond, control::AdvanceLaunch{(*job)->id, phase});
  return {};
}

Result<void> free_job(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond) {
  const auto state = call.plane.loop.state();
  const auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  const auto version = if_version(call, *state);
  if (!version) return std::unexpected(version.error());
  auto command = read_freed((*job)->id, call.request.body);
  if (!command) return std::unexpected(command.error());
  command->if_version = *version;
  submit_change(answers, call, respond, std::move(*command));
  return {};
}

Result<void> answer_move(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond,
                         bool accept) {
  const auto state = call.plane.loop.state();
  const auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  submit_change(answers, call, respond, control::AnswerMove{(*job)->id, accept});
  return {};
}

}  // namespace

void add_launch_routes(RouteTable& routes, const std::shared_ptr<JobAnswers>& answers) {
  const RouteOptions json{.consumes = {"application/json"}};
  const auto advance = [answers](LaunchPhase phase) {
    return [answers, phase](const Call& call, const Responder& respond) {
      return advance_launch(answers, call, respond, phase);
    };
  };
  routes.post("/v1/jobs/{id}/accept", {.access = kOperatorsAndMembers}, advance(LaunchPhase::accepted));
  routes.post("/v1/jobs/{id}/running", {.access = kOperatorsAndMembers}, advance(LaunchPhase::running));
  for (const bool accept : {true, false}) {
    routes.post(accept ? "/v1/jobs/{id}/move/accept" : "/v1/jobs/{id}/move/decline", {.access = kOperatorsAndMembers},
                [answers, accept](const Call& call, const Responder& respond) {
                  return answer_move(answers, call, respond, accept);
                });
  }
  routes.post("/v1/jobs/{id}/freed", {.access = kOperatorsAndMembers, .http = json, .present = present_job},
              [answers](const Call& call, const Responder& respond) { return free_job(answers, call, respond); });
}

}  // namespace railweave::api
