#include "scheduler/placement/score/group_spans.h"

#include <algorithm>

namespace railweave::scheduler {

std::vector<GroupSpan> group_spans(const PlacementFabric& fabric, const Parallelism& p,
                                   std::span<const fabric::GpuId> gpu_of_rank) {
  if (gpu_of_rank.empty()) return {};  // a job whose nodes are no longer in the fabric
  const Hierarchy& hierarchy = fabric.hierarchy();
  const FabricBundles& bundles = fabric.bundles();
  const auto& topology = fabric.topology();
  struct Kind {
    CommGroup group;
    std::uint32_t size;
  };
  // In order of ranks, the fastest first.
  const Kind kinds[] = {{CommGroup::tensor, p.tensor},
                        {CommGroup::context, p.context},
                        {CommGroup::expert, p.expert},
                        {CommGroup::data, p.data},
                        {CommGroup::pipeline, p.pipeline}};
  std::vector<GroupSpan> spans;
  std::vector<std::uint32_t> units;
  std::uint64_t stride = 1;
  for (const auto& [group, size] : kinds) {
    const std::uint64_t inner = stride;
    stride *= size;
    if (size < 2) continue;
    GroupSpan span{.group = group, .count = gpu_of_rank.size() / size, .members = size};
    unsigned farthest = hierarchy.host_level();
    for (std::uint64_t base = 0; base < gpu_of_rank.size(); ++base) {
      if (base / inner % size != 0) continue;
      units.clear();
      LeafIndex first = UINT32_MAX, last = 0;
      for (std::uint64_t i = 0; i < size; ++i) {
        const auto gpu = gpu_of_rank[base + i * inner];
        units.push_back(bundles.place(gpu).unit);
        const LeafIndex leaf = hierarchy.host_first_leaf(topology.host(gpu));
        first = std::min(first, leaf);
        last = std::max(last, leaf);
      }
      farthest = hierarchy.joining_level(farthest, first, last);
      std::ranges::sort(units);
      const auto repeated = std::ranges::unique(units);
      span.domains = std::max(span.domains, static_cast<std::uint32_t>(units.size() - repeated.size()));
    }
    span.worst = span.domains == 1 ? fabric::LevelKind::nvlink_domain : hierarchy.kind(farthest);
    spans.push_back(span);
  }
  return spans;
}

}  // namespace railweave::scheduler
