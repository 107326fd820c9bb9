// What traffic between all pairs of host ports puts on the fullest link: with given tables, and at least with any. In 1/64 pairs on links
// of the slowest rate (pair_weights()). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/up_down/next_hops.h"
#include "fabric/routing/up_down/reach.h"

namespace railweave::fabric {

// UINT64_MAX where the tables drop packets of a pair that has a route. O(switches x host destinations).
std::uint64_t fullest_load(const Plane& plane, const Reach& reach, const PlaneTables& tables,
                           std::span<const std::uint32_t> pair_weight);

// The load of the switch whose own links are the tightest, spread evenly over them, from pairs that have a route. weight: by
// destination; empty: 1 each. O(homes^2).
std::uint64_t least_load(const Plane& plane, const DirectedReach& on, std::span<const std::uint32_t> pair_weight,
                         std::span<const std::uint64_t> weight);
std::uint64_t least_load(const Plane& plane, const NextHops& hops, std::span<const std::uint32_t> pair_weight,
                         std::span<const std::uint64_t> weight);

// What a pair counts for by its destination, from 1 to 1024 in proportion to the weights; empty: 1 each.
std::vector<std::uint64_t> scaled_weights(const Plane& plane, std::span<const std::uint32_t> weights);

// A fullest link so near the bound is not worth balancing.
constexpr bool is_even_enough(std::uint64_t fullest, std::uint64_t least) { return fullest <= least + least / 64; }

}  // namespace railweave::fabric
