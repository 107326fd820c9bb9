// The job of a path, by its id.
#pragma once

#include <string>

#include "services/control/state/cluster_state.h"

namespace railweave::api {

[[nodiscard]] Result<control::JobPtr> find_job(const control::ClusterState& state, const std::string& id);

}  // namespace railweave::api
