// Maximum bipartite b-matching: the most that sources can send to sinks at once, each within its own limit, over the
// pairs that are allowed. By maximum flow (Dinic 1970); pairs have no limit of their own.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace railweave::fabric {

std::int64_t max_b_matching(std::span<const std::int64_t> source_limit, std::span<const std::int64_t> sink_limit,
                            std::span<const std::pair<std::uint32_t, std::uint32_t>> allowed);

}  // namespace railweave::fabric
