// The service levels that routes give to paths: a packet on another level than its path's may be part of a credit loop.
#pragma once

#include <cstdint>
#include <span>

#include "services/control/views/routing_cache.h"

namespace railweave::control {

// Of all paths from one of these end ports to another, a bit each. 0: there are no such paths, routes need no levels, or
// another subnet manager gives them, so that they are not known. O(leaves x ports) where routes need levels.
std::uint16_t path_levels(const FabricRoutes& routes, std::span<const fabric::PortId> ports);

}  // namespace railweave::control
