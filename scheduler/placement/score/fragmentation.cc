#include "scheduler/placement/score/fragmentation.h"

namespace railweave::scheduler {

Fragmentation::Fragmentation(const Hierarchy& hierarchy) : hierarchy_(&hierarchy), sizes_(hierarchy.level_count()) {
  unsigned count = 0;
  for (unsigned exponent = 0; (std::uint64_t{1} << exponent) <= hierarchy.total_capacity(); ++exponent) {
    unsigned level = 0;
    while (level < hierarchy.top() && hierarchy.max_capacity(level) < (std::uint64_t{1} << exponent)) ++level;
    sizes_[level].push_back(exponent);
    ++count;
  }
  chance_ = count == 0 ? 0 : 1.0 / count;
}

double Fragmentation::lost_gpus(const PlacementTree& tree, std::span<const Share> shares) const {
  std::uint64_t lost = 0;
  const auto drop = [&](unsigned level, std::uint32_t before, std::uint32_t taken) {
    const std::uint32_t after = before - taken;
    for (const unsigned exponent : sizes_[level]) {
      lost += std::uint64_t{(before >> exponent) - (after >> exponent)} << exponent;
    }
  };
  for (const Share& share : shares) drop(0, tree.free(0, share.leaf), share.gpus);
  for (unsigned level = 1; level < sizes_.size(); ++level) {
    if (sizes_[level].empty()) continue;
    for (std::size_t i = 0; i < shares.size();) {
      const GroupIndex group = hierarchy_->group_of_leaf(level, shares[i].leaf);
      std::uint32_t broken = 0;
      for (; i < shares.size() && hierarchy_->group_of_leaf(level, shares[i].leaf) == group; ++i) {
        broken += tree.whole(0, shares[i].leaf);
      }
      drop(level, tree.whole(level, group), broken);
    }
  }
  return chance_ * static_cast<double>(lost);
}

}  // namespace railweave::scheduler
