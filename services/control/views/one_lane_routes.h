// Routes for a subnet that has no service levels to give to paths: where an engine needs several lanes, those that go up and
// then down, on one.
#pragma once

#include <span>

#include "services/control/views/routing_cache.h"

namespace railweave::control {

// `routes` itself where they need one lane on these planes. Errors: of routing.
Result<FabricRoutesPtr> on_one_lane(const FabricRoutesPtr& routes, std::span<const fabric::PlaneId> planes);

}  // namespace railweave::control
