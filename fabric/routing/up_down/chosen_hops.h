// Next hops that were chosen for the traffic that there is (SpreadBasis::hops), in tables that an order proves: they are used where
// they are next hops on routes as long, so that any of them, all or none leave tables free of loops and of credit loops. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/plane/routing_scope.h"
#include "fabric/routing/up_down/plane_state.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

// Sets those of the plane, in tables of the state. Returns how many do; the others would lead elsewhere now, or over a link that is
// down. Of an end port with several LIDs the first is meant.
std::size_t set_chosen_hops(const RoutingScope& scope, PlaneId id, const PlaneState& state,
                            std::span<const ChosenHop> hops, PlaneTables& tables);

}  // namespace railweave::fabric
