// Spreads traffic over the links that tables may use: takes it off the fullest ones (load_shift.h) and, where that leaves them
// much fuller than the bound, balances all ports (port_balance.h) and takes it off the fullest ones of those. Pure; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/up_down/load_shift.h"
#include "fabric/routing/up_down/port_balance.h"
#include "fabric/routing/up_down/reach.h"

namespace railweave::fabric {

// Whether the plane and its tables are small enough for it.
bool may_spread(const Plane& plane);

// The best that was found, the tables that it started from at worst, with what these carry as start_load. none: they drop packets
// of a pair that has a next hop, and are too large to be balanced.
std::optional<LoadShiftResult> spread_ports(const Plane& plane, const DirectedReach& on,
                                            std::span<const std::uint32_t> pair_weight, const PlaneTables& start,
                                            std::span<const std::uint32_t> weights, const BalanceEffort& effort = {});

}  // namespace railweave::fabric
