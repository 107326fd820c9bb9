// The routes of a replayed fabric, as Railweave would compute them with every link up.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "fabric/flow/flow_paths.h"
#include "fabric/routing/plane/routing_engine.h"
#include "fabric/routing/traffic/traffic_balance.h"
#include "scheduler/collective/routed_traffic.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::cli {

struct ReplayRoutes {
  fabric::FabricView view;
  fabric::Routing routing;
};
// Throws CommandFailure where the fabric has no routes.
std::unique_ptr<const ReplayRoutes> replay_routes(const scheduler::PlacementFabric& fabric);

// The same routes with next hops for flows (fabric/routing/traffic).
struct FollowedRoutes {
  fabric::Routing routing;
  std::size_t hops = 0;
};
FollowedRoutes followed_routes(const ReplayRoutes& routes, std::span<const fabric::Demand> demands);

// The flows of a placed job between ports; bundled: its loads on bundles.
std::vector<scheduler::PortFlow> flows_on(const scheduler::PlacementFabric& fabric, const fabric::PathWalker& walker,
                                          const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank,
                                          const scheduler::LinkTraffic& bundled);
// What a job sends between ports, in the mean over a step of it that takes so long.
std::vector<fabric::Demand> demands_of(std::span<const scheduler::PortFlow> flows, double period_us);

}  // namespace railweave::cli
