// The routes of a replayed fabric, as Railweave would compute them with every link up.
#pragma once

#include <memory>

#include "fabric/routing/plane/routing_engine.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::cli {

struct ReplayRoutes {
  fabric::FabricView view;
  fabric::Routing routing;
};
// Throws CommandFailure where the fabric has no routes.
std::unique_ptr<const ReplayRoutes> replay_routes(const scheduler::PlacementFabric& fabric);

}  // namespace railweave::cli
