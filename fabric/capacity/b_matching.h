// Maximum bipartite b-matching: the largest total rate that sources can send to sinks at once, each within its own
// limit, over the allowed pairs. Pairs have no limits of their own, so that one link's largest hose load is such a
// matching. Computed as a maximum flow (Dinic, Soviet Math. Doklady 11, 1970). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace railweave::fabric {

std::int64_t max_b_matching(std::span<const std::int64_t> source_limit, std::span<const std::int64_t> sink_limit,
                            std::span<const std::pair<std::uint32_t, std::uint32_t>> allowed);

}  // namespace railweave::fabric
