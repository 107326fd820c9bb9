// Chooses one of several next hops of equal length, so that destinations spread over them in proportion to their
// rates. Deterministic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/mix.h"

namespace railweave::fabric {

// arcs: not empty. pair_weight: see pair_weights() (next_hops.h). Consecutive keys get consecutive arcs where all have
// one weight; otherwise keys are hashed, in proportion to what the arcs carry.
inline std::uint32_t choose_arc(std::span<const std::uint32_t> arcs, const std::vector<std::uint32_t>& pair_weight,
                                std::uint64_t key) {
  const std::uint32_t weight = pair_weight[arcs.front()];
  if (std::ranges::all_of(arcs, [&](std::uint32_t a) { return pair_weight[a] == weight; })) {
    return arcs[key % arcs.size()];
  }
  constexpr std::uint64_t kScale = 1U << 20U;  // over the largest weight, 64 * 1024
  std::uint64_t total = 0;
  for (const std::uint32_t a : arcs) total += kScale / pair_weight[a];
  std::uint64_t at = mix(key) % total;
  for (const std::uint32_t a : arcs) {
    const std::uint64_t part = kScale / pair_weight[a];
    if (at < part) return a;
    at -= part;
  }
  return arcs.back();
}

}  // namespace railweave::fabric
