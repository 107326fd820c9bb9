#include "tests/bench/placement/peers.h"

#include <algorithm>
#include <bit>

namespace railweave::scheduler::bench {

Peer::Peer(const PlacementFabric& fabric) : fabric_(fabric), hierarchy_(fabric.hierarchy()) {
  for (LeafIndex leaf = 0; leaf < hierarchy_.leaf_count(); ++leaf) free_.push_back(hierarchy_.gpu_mask(leaf));
}

void Peer::take(const std::vector<fabric::GpuId>& gpus) {
  for (const auto gpu : gpus) {
    free_[hierarchy_.host_first_leaf(fabric_.topology().host(gpu))] &=
        ~(std::uint64_t{1} << fabric_.topology().local_index(gpu));
  }
}

void Peer::release(const std::vector<fabric::GpuId>& gpus) {
  for (const auto gpu : gpus) {
    free_[hierarchy_.host_first_leaf(fabric_.topology().host(gpu))] |= std::uint64_t{1}
                                                                       << fabric_.topology().local_index(gpu);
  }
}

void Peer::give(LeafIndex leaf, std::uint32_t count, std::vector<fabric::GpuId>& gpus) const {
  const auto of_host = fabric_.topology().gpus(hierarchy_.host(leaf));
  for (std::uint64_t rest = free_[leaf]; count > 0; rest &= rest - 1, --count) {
    gpus.push_back(of_host[static_cast<std::size_t>(std::countr_zero(rest))]);
  }
}

std::vector<fabric::GpuId> FirstFit::place(std::uint32_t block, std::uint64_t blocks) {
  std::vector<fabric::GpuId> gpus;
  for (LeafIndex leaf = 0; leaf < hierarchy_.leaf_count() && blocks > 0; ++leaf) {
    const auto here = static_cast<std::uint32_t>(std::popcount(free_[leaf])) / block;
    const auto given = static_cast<std::uint32_t>(std::min<std::uint64_t>(here, blocks));
    give(leaf, given * block, gpus);
    blocks -= given;
  }
  if (blocks > 0) gpus.clear();
  return gpus;
}

CountingBestFit::CountingBestFit(const PlacementFabric& fabric) : Peer(fabric), blocks_(hierarchy_.level_count()) {
  for (unsigned level = 0; level < hierarchy_.level_count(); ++level)
    blocks_[level].resize(hierarchy_.group_count(level));
}

std::vector<fabric::GpuId> CountingBestFit::place(std::uint32_t block, std::uint64_t blocks) {
  for (LeafIndex leaf = 0; leaf < hierarchy_.leaf_count(); ++leaf) {
    blocks_[0][leaf] = static_cast<std::uint32_t>(std::popcount(free_[leaf])) / block;
  }
  for (unsigned level = 1; level < hierarchy_.level_count(); ++level) {
    std::ranges::fill(blocks_[level], 0U);
    for (GroupIndex child = 0; child < blocks_[level - 1].size(); ++child) {
      blocks_[level][hierarchy_.parent(level - 1, child)] += blocks_[level - 1][child];
    }
  }
  unsigned level = 0;
  // Most blocks first, then the least left over of a node, then the lowest number.
  const auto most_first = [&](const Group& a, const Group& b) {
    if (a.blocks != b.blocks) return a.blocks > b.blocks;
    const int left_a = level == 1 ? std::popcount(free_[a.number]) : 0;
    const int left_b = level == 1 ? std::popcount(free_[b.number]) : 0;
    return left_a != left_b ? left_a < left_b : a.number < b.number;
  };
  std::vector<Group> chosen;
  for (; level < hierarchy_.level_count(); ++level) {
    std::pair<std::uint32_t, int> best(UINT32_MAX, 0);
    for (GroupIndex group = 0; group < blocks_[level].size(); ++group) {
      const std::pair fit(blocks_[level][group], level == 0 ? std::popcount(free_[group]) : 0);
      if (blocks_[level][group] >= blocks && fit < best) {
        best = fit;
        chosen = {{static_cast<std::uint32_t>(blocks), group}};
      }
    }
    if (!chosen.empty()) break;
  }
  if (chosen.empty()) return {};
  while (level > 0) {
    std::vector<Group> next;
    for (const Group& parent : chosen) {
      std::vector<Group> children;
      for (GroupIndex child = hierarchy_.first_child(level, parent.number);
           child < hierarchy_.first_child(level, parent.number + 1); ++child) {
        if (blocks_[level - 1][child] > 0) children.push_back({blocks_[level - 1][child], child});
      }
      std::ranges::sort(children, most_first);
      std::uint32_t rest = parent.blocks;
      for (std::size_t i = 0; rest > 0; ++i) {
        if (children[i].blocks >= rest) {
          std::size_t last = i;
          while (last + 1 < children.size() && children[last + 1].blocks >= rest) ++last;
          while (last > i && children[last - 1].blocks == children[last].blocks) --last;  // the lowest number of equals
          next.push_back({rest, children[last].number});
          break;
        }
        next.push_back(children[i]);
        rest -= children[i].blocks;
      }
    }
    chosen = std::move(next);
    --level;
  }
  std::vector<fabric::GpuId> gpus;
  for (const Group& leaf : chosen) give(leaf.number, leaf.blocks * block, gpus);
  return gpus;
}

}  // namespace railweave::scheduler::bench
