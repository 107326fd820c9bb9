// Brings the tables of a plane up to date after a few of its arcs changed: computes only the entries that may differ,
// by (switch, home), so that one failed cable takes well under a millisecond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/up_down/plane_state.h"
#include "fabric/routing/up_down/reach.h"

namespace railweave::fabric {

// tables: those of `before`; afterwards those of `after`. Both states follow the same order; changed_arcs and moved are
// what differs between them (updated_state()). Returns the number of entries that changed.
std::size_t update_tables(const Plane& plane, const PlaneState& before, const PlaneState& after,
                          const std::vector<std::uint32_t>& changed_arcs, const std::vector<Reach::Change>& moved,
                          PlaneTables& tables);

}  // namespace railweave::fabric
