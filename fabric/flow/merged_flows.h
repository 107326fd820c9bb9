// Flows of the same path made one, with how many there are: symmetric collectives shrink 10 to 1,000 times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railweave::fabric {

struct MergedFlows {
  std::vector<std::uint32_t> first{0};  // of merged flow m, and the end
  std::vector<std::uint32_t> links;
  std::vector<std::uint32_t> members;
  std::vector<std::uint32_t> merged_of;  // by flow as given: its merged flow
};

// first, links: as in FlowProblem. kind: by flow, what else must be equal (class, weight, cap: as the caller numbers
// them); empty: nothing. Merged flows stand in the order of their first member. O(hops).
MergedFlows merge_flows(std::span<const std::uint32_t> first, std::span<const std::uint32_t> links,
                        std::span<const std::uint32_t> kind = {});

}  // namespace railweave::fabric
