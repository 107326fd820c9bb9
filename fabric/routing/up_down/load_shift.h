// Takes traffic off links that are fuller than need be, one switch and destination at a time, by other next hops whose way to
// the destination has room. Cheap where most of the tables are good already, as on a large tree that lost a few cables, where
// port_balance.h would route every destination again. Deterministic: integers and fixed orders only. Pure; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/up_down/reach.h"

namespace railweave::fabric {

inline constexpr std::uint64_t kMaxShiftedPorts = UINT16_MAX;  // host ports of a plane

struct LoadShiftResult {
  PlaneTables tables;
  std::uint64_t max_load = 0;    // on the fullest arc, in 1/64 pairs of host ports, weighted
  std::uint64_t start_load = 0;  // the same with the tables it started from
  std::uint64_t least_load = 0;  // a lower bound: what the links of single switches must carry
};

// The plane has at most kMaxShiftedPorts host ports. pair_weight: see pair_weights(). weights: by destination, or empty: all alike. Only destinations of hosts are moved. none: the
// tables drop packets of a pair that has a next hop. Takes O(switches x destinations), and then at most `steps` links looked at.
std::optional<LoadShiftResult> shift_loads(const Plane& plane, const DirectedReach& on,
                                           std::span<const std::uint32_t> pair_weight, const PlaneTables& start,
                                           std::span<const std::uint32_t> weights, std::uint64_t steps = 30'000'000);

}  // namespace railweave::fabric
