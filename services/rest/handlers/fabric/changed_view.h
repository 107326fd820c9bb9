// The fabric as it would be if links and switches failed or were drained.
#pragma once

#include "services/control/state/cluster_state.h"
#include "services/rest/json/fabric/routes.h"

namespace railweave::api {

// The state's view with the change made to it. Errors: links.notFound, switches.notFound.
Result<fabric::FabricView> changed_view(const control::ClusterState& state, const RouteChange& change);

}  // namespace railweave::api
