// Shift permutations over the host ports of a plane: host port i sends to host port i + k. Collectives are made of
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/audit/column_walk.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric {

// The most flows on one directed link between switches, for each of the shifts. What is not reached does not flow.
std::vector<std::uint64_t> shift_loads(const Plane& plane, const PortMap& ports, const PlaneTables& tables,
                                       const std::vector<std::uint32_t>& shifts);
// `count` shifts, spread over 1 ... host ports - 1 in a fixed way.
std::vector<std::uint32_t> sample_shifts(const Plane& plane, unsigned count);

}  // namespace railweave::fabric
