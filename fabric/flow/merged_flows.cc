#include "fabric/flow/merged_flows.h"

#include <algorithm>
#include <bit>

namespace railweave::fabric {

MergedFlows merge_flows(std::span<const std::uint32_t> first, std::span<const std::uint32_t> links,
                        std::span<const std::uint32_t> kind) {
  constexpr std::uint32_t kFree = UINT32_MAX;
  MergedFlows merged;
  const std::size_t flows = first.empty() ? 0 : first.size() - 1;
  merged.merged_of.reserve(flows);
  const std::size_t slots = std::bit_ceil(std::max<std::size_t>(flows * 2, 16));
  std::vector<std::uint32_t> slot(slots, kFree);  // merged flow
  std::vector<std::uint32_t> kind_of;             // by merged flow
  for (std::size_t f = 0; f < flows; ++f) {
    const auto path = links.subspan(first[f], first[f + 1] - first[f]);
    const std::uint32_t own_kind = kind.empty() ? 0 : kind[f];
    std::uint64_t hash = own_kind + 0x9E3779B97F4A7C15ULL;
    for (const std::uint32_t l : path) hash = (hash ^ l) * 0xFF51AFD7ED558CCDULL, hash ^= hash >> 32U;
    std::size_t at = hash & (slots - 1);
    for (; slot[at] != kFree; at = (at + 1) & (slots - 1)) {
      const std::uint32_t m = slot[at];
      const auto other = std::span(merged.links).subspan(merged.first[m], merged.first[m + 1] - merged.first[m]);
      if (kind_of[m] == own_kind && std::ranges::equal(other, path)) break;
    }
    if (slot[at] == kFree) {
      slot[at] = static_cast<std::uint32_t>(merged.members.size());
      merged.links.insert(merged.links.end(), path.begin(), path.end());
      merged.first.push_back(static_cast<std::uint32_t>(merged.links.size()));
      merged.members.push_back(0);
      kind_of.push_back(own_kind);
    }
    ++merged.members[slot[at]];
    merged.merged_of.push_back(slot[at]);
  }
  return merged;
}

}  // namespace railweave::fabric
