#include <utility>

#include "services/rest/handlers/jobs/job_lookup.h"
#include "services/rest/handlers/jobs/job_submission.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/jobs/job_change.h"

namespace railweave::api {
namespace {

Result<void> patch_job(const std::shared_ptr<JobAnswers>& answers, const Call& call, const Responder& respond) {
  const auto state = call.plane.loop.state();
  auto job = find_job(*state, call.request);
  if (!job) return std::unexpected(job.error());
  auto version = if_version(call, *state);
  if (!version) return std::unexpected(version.error());
  auto change = read_job_change((*job)->id, call.request.body);
  if (!change) return std::unexpected(change.error());
  change->if_version = *version;
  change->by_member = own_tenant(call.request) != nullptr;
  submit_change(answers, call, respond, std::move(*change));
  return {};
}

}  // namespace

void add_job_change_routes(RouteTable& routes, const std::shared_ptr<JobAnswers>& answers) {
  const RouteOptions patch{.consumes = {"application/merge-patch+json", "application/json"}};
  routes.patch("/v1/jobs/{id}", {.access = kOperatorsAndMembers, .http = patch, .present = present_job},
               [answers](const Call& call, const Responder& respond) { return patch_job(answers, call, respond); });
}

}  // namespace railweave::api
