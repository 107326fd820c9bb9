// Shift permutations over the host ports of a plane: host port i sends to host port i + k. Collectives consist of them.
// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/audit/column_walk.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric {

// By shift: the largest number of flows on one directed link between switches. Pairs without a route count up to where
// the route ends.
std::vector<std::uint64_t> shift_loads(const Plane& plane, const PortMap& ports, const PlaneTables& tables,
                                       const std::vector<std::uint32_t>& shifts);
// `count` shifts, spread over 1 ... host ports - 1, always the same ones.
std::vector<std::uint32_t> sample_shifts(const Plane& plane, unsigned count);

}  // namespace railweave::fabric
