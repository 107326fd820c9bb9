// The cost of hashing flows onto links: ECMP puts each of n flows on one of k members at random, so that the fullest
// member gets more than its share. Pure.
#pragma once

#include <cstdint>

namespace railweave::fabric {

// The expected number of flows on the fullest of k equal members, over random hashing of n flows. Exact up to
// kExactFlows flows: E[max] = sum over m >= 0 of P(max > m), where P(max <= m) is computed member by member, each of
// which receives Binomial(remaining flows, 1 / remaining members) of them. Beyond: n/k + sqrt(2 (n/k) ln k), the
// leading terms of Raab and Steger, "Balls into Bins - A Simple and Tight Analysis", RANDOM 1998, theorem 1, for n much
// larger than k log k; never less than n/k rounded up. 0 if n or k is 0.
inline constexpr std::uint32_t kExactFlows = 256;
double expected_max_flows(std::uint32_t flows, std::uint32_t members);

// The factor by which the fullest member slows n equal flows down, compared with an even split: expected_max_flows * k
// / n, at least 1.
double expected_collision_factor(std::uint32_t flows, std::uint32_t members);

}  // namespace railweave::fabric
