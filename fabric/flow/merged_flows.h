// Merges flows of one path into one with a number of members: symmetric collectives shrink 10 to 1,000 times. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railweave::fabric {

struct MergedFlows {
  std::vector<std::uint32_t> first{0};  // of merged flow m, and the end
  std::vector<std::uint32_t> links;
  std::vector<std::uint32_t> members;
  std::vector<std::uint32_t> merged_of;  // by original flow: its merged flow
};

// first, links: as in FlowProblem. kind: by flow, a number for all else that must be equal (class, weight, cap); empty:
// only paths must be. Merged flows are in the order of their first member. O(hops).
MergedFlows merge_flows(std::span<const std::uint32_t> first, std::span<const std::uint32_t> links,
                        std::span<const std::uint32_t> kind = {});

}  // namespace railweave::fabric
