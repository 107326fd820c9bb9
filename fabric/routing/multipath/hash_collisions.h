// What hashing flows onto links costs: ECMP puts each of n flows on one of k members at random, and the fullest member
// gets more than its share.
#pragma once

#include <cstdint>

namespace railweave::fabric {

// The mean, over random hashing, of the most of n flows that meet on one of k equal members.
// Exact up to kExactFlows flows: E[max] = sum over m >= 0 of P(max > m), where P(max <= m) follows member by member
// from how many flows the members before it took, each taking Binomial(flows left, 1 / members left) of them. Beyond:
// n/k + sqrt(2 (n/k) ln k), the leading terms of Raab and Steger, "Balls into Bins - A Simple and Tight Analysis",
// RANDOM 1998, theorem 1, for n much larger than k log k; never less than n/k rounded up. 0 where n or k is.
inline constexpr std::uint32_t kExactFlows = 256;
double expected_max_flows(std::uint32_t flows, std::uint32_t members);

// How much slower the fullest member makes n equal flows than an even split would: expected_max_flows * k / n, at
// least 1.
double expected_collision_factor(std::uint32_t flows, std::uint32_t members);

}  // namespace railweave::fabric
