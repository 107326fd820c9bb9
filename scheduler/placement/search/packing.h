// From a number of GPUs on each leaf to an order of GPUs in which the pieces of a job are consecutive: blocks, groups
// of blocks, pipeline stages. A piece is made of the nearest parts there are: first those of one leaf, then those of
// one group of the next level, and so on. One per thread: it owns scratch memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/fit/placement_tree.h"

namespace railweave::scheduler {

class Packing {
 public:
  explicit Packing(const PlacementFabric& fabric) : fabric_(&fabric) {}

  // `shares` in order of leaves, each at most what is free there; `nested_gpus` rising, each a multiple of the one
  // before (the first is the block, the last everything). Within a block GPUs are ordered by leaf, then by rail.
  void pack(const PlacementTree& tree, std::span<const Share> shares, std::span<const std::uint64_t> nested_gpus);

  // In packing order, and the leaf of each.
  [[nodiscard]] std::span<const fabric::GpuId> gpus() const { return gpus_; }
  [[nodiscard]] std::span<const LeafIndex> leaves() const { return leaves_; }

 private:
  // A piece made so far: `count` GPUs of taken_ through order_, in leaves [first, last].
  struct Piece {
    LeafIndex first = 0;
    LeafIndex last = 0;
    std::uint32_t begin = 0;  // in blocks
  };

  void take(const PlacementTree& tree, const Share& share, std::uint32_t block);
  void append(LeafIndex leaf, std::uint64_t mask);
  void make_blocks(std::uint32_t block);
  void group(std::uint64_t factor, std::uint64_t blocks_per_piece);

  const PlacementFabric* fabric_;
  std::vector<fabric::GpuId> gpus_;
  std::vector<LeafIndex> leaves_;
  std::vector<fabric::GpuId> whole_, parts_;  // taken: whole blocks, and what is less than one
  std::vector<LeafIndex> whole_leaves_, part_leaves_;
  std::vector<Piece> pieces_, made_;
  std::vector<std::uint32_t> order_, next_order_;  // of blocks
  std::vector<std::uint32_t> pending_, run_;
};

}  // namespace railweave::scheduler
