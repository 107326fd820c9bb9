// Chooses, for fabrics too irregular for the closed form, one of the next hops per switch and destination so that the
// load of the fullest link is as small as possible. Destinations are removed and routed again one after another, each
// over the arcs of least cost, where the cost of an arc is the eighth power of its load. Deterministic: integers and
// fixed orders only. Pure; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/up_down/next_hops.h"

namespace railweave::fabric {

struct BalanceResult {
  PlaneTables tables;            // kNoPort where there is no next hop
  std::uint64_t max_load = 0;    // on the fullest arc, in 1/64 pairs of host ports, weighted
  std::uint64_t start_load = 0;  // the same with the tables it started from
  std::uint64_t least_load = 0;  // a lower bound: what the uplinks of single leaves must carry
};

struct BalanceEffort {
  unsigned rounds = 10;
};

// pair_weight: see pair_weights(). start: tables to improve, which are the answer where nothing is gained. weights: by destination, or empty: all alike. O(rounds x
// destinations x next hops per home).
BalanceResult balance_ports(const Plane& plane, const NextHops& hops, std::vector<std::uint32_t> pair_weight,
                            const PlaneTables& start, std::span<const std::uint32_t> weights,
                            const BalanceEffort& effort = {});
// The same without tables to start from.
BalanceResult balance_ports(const Plane& plane, const NextHops& hops, std::vector<std::uint32_t> pair_weight,
                            std::span<const std::uint32_t> weights, const BalanceEffort& effort = {});

}  // namespace railweave::fabric
