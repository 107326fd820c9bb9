#include "scheduler/placement/score/summary.h"

#include <algorithm>
#include <vector>

#include "scheduler/placement/score/data_rings.h"

namespace railweave::scheduler {

void summarize(const PlacementFabric& fabric, const Parallelism& parallelism, Placement& placement) {
  const Hierarchy& hierarchy = fabric.hierarchy();
  const auto& gpus = placement.gpu_of_rank;
  const std::uint64_t stage = gpus.size() / parallelism.pipeline;
  std::vector<LeafIndex> leaves;
  unsigned stage_level = 0;
  for (std::size_t begin = 0; begin < gpus.size(); begin += stage) {
    LeafIndex least = UINT32_MAX, most = 0;
    for (std::size_t r = begin; r < begin + stage; ++r) {
      const LeafIndex leaf = fabric.leaf(gpus[r]);
      if (!leaves.empty() && leaves.back() == leaf && r != begin) continue;
      leaves.push_back(leaf);
      least = std::min(least, leaf);
      most = std::max(most, leaf);
    }
    stage_level = hierarchy.joining_level(stage_level, least, most);
  }
  if (!std::ranges::is_sorted(leaves)) std::ranges::sort(leaves);
  const auto repeated = std::ranges::unique(leaves);
  leaves.erase(repeated.begin(), repeated.end());
  const unsigned level = hierarchy.joining_level(0, leaves.front(), leaves.back());
  placement.level = hierarchy.kind(level);
  placement.stage_level = hierarchy.kind(stage_level);
  placement.groups_at_level = level == 0 ? 1 : 0;
  placement.nodes_used = 0;
  placement.nics_assumed = false;

  fabric::HostId host;
  GroupIndex group = UINT32_MAX;
  std::vector<std::uint32_t> domains;
  std::uint32_t without_nvlink = 0;
  for (const LeafIndex leaf : leaves) {
    if (hierarchy.host(leaf) != host) {
      host = hierarchy.host(leaf);
      ++placement.nodes_used;
      placement.nics_assumed = placement.nics_assumed || fabric.gpu_nics().assumed(host);
    }
    if (const auto domain = fabric.domain(leaf); !domain) {
      ++without_nvlink;
    } else if (domains.empty() || domains.back() != domain.value()) {
      domains.push_back(domain.value());
    }
    if (level == 0) continue;
    const GroupIndex below = hierarchy.group_of_leaf(level - 1, leaf);
    if (below != group) ++placement.groups_at_level;
    group = below;
  }
  std::ranges::sort(domains);
  const auto same = std::ranges::unique(domains);
  placement.domains_used = static_cast<std::uint32_t>(domains.size() - same.size()) + without_nvlink;
  placement.data_rings_on_rails = data_rings_on_rails(fabric, parallelism, gpus);
}

}  // namespace railweave::scheduler
