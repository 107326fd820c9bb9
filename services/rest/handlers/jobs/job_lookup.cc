#include "services/rest/handlers/jobs/job_lookup.h"

#include "services/rest/access/viewer.h"

namespace railweave::api {

using control::JobPtr;

Result<JobPtr> find_job(const control::ClusterState& state, const Request& request) {
  const std::string& id = request.param("id");
  const auto parsed = control::parse_job_id(id);
  JobPtr job = parsed ? state.jobs.find(*parsed) : nullptr;
  if (job != nullptr && may_see_job(state, request, *job)) return job;
  return fail(ErrorKind::notFound, "jobs.notFound", "there is no job '" + id + "'", {},
              "GET /v1/jobs lists them; jobs that ended long ago are in the table job_history of the store");
}

}  // namespace railweave::api
