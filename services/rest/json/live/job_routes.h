// Routes that follow jobs, of a subnet without a connection, as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/control/state/cluster_state.h"
#include "services/control/views/job_routes.h"

namespace railweave::api {

// state: with the hops, where they are set; tables: of it. "version" changes with the routes.
std::string write_job_routes(const control::ClusterState& state, const std::string& subnet,
                             const control::JobRoutes& routes, const std::vector<control::TableDigest>& tables,
                             bool is_set);

}  // namespace railweave::api
