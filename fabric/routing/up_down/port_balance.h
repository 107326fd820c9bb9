// Chooses, for fabrics too irregular for the closed form, one of the possible ports per switch and destination so that
// the fullest link is as empty as can be: destinations are taken out and put back one after another, each on the way of
// least cost, where an arc costs the eighth power of its load. Deterministic: integers and fixed orders only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/up_down/next_hops.h"

namespace railweave::fabric {

struct BalanceResult {
  PlaneTables tables;            // of the next hops; kNoPort where there are none
  std::uint64_t max_load = 0;    // pairs of host ports on the fullest arc, weighted as they are, in 1/64
  std::uint64_t start_load = 0;  // with the tables it began from
  std::uint64_t least_load = 0;  // what leaves' own uplinks make unavoidable
};

struct BalanceEffort {
  unsigned rounds = 10;
};

// pair_weight: see pair_weights(). start: tables to improve on. weights: by destination, or empty: all alike. Takes
// O(rounds x destinations x next hops per home).
BalanceResult balance_ports(const Plane& plane, const NextHops& hops, std::vector<std::uint32_t> pair_weight,
                            const PlaneTables& start, std::span<const std::uint32_t> weights,
                            const BalanceEffort& effort = {});
// The same without tables to begin from.
BalanceResult balance_ports(const Plane& plane, const NextHops& hops, std::vector<std::uint32_t> pair_weight,
                            std::span<const std::uint32_t> weights, const BalanceEffort& effort = {});

}  // namespace railweave::fabric
