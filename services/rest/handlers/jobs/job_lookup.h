// The job that a path names by {id}. To a member the jobs of other tenants are not there.
#pragma once

#include "api/http/message/request.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {

[[nodiscard]] Result<control::JobPtr> find_job(const control::ClusterState& state, const Request& request);

}  // namespace railweave::api
