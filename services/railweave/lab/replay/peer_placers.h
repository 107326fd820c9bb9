// Placement policies of other schedulers, for comparison. They place whole tensor groups and consider nothing else:
//   first_fit  nodes in order
//   random     nodes in an order drawn for each job, the same in every run
//   best_fit   the fullest node that still holds a group, group by group ("most allocated")
//   tree       Slurm's topology/tree: below the lowest switch with enough room, the fullest of several; there on the leaf
//              switch that holds the job with least to spare, else the emptiest leaves first; on a leaf nodes in order
//   block      Slurm's topology/block: blocks are NVLink domains of several hosts, else what is below a leaf switch; 1, 2, 4, ...
//              blocks in a row are one where a job is larger. In the smallest that could hold the job, of several with enough room
//              the fullest, inside as the tree; never over more, so that a job waits where none has room
// A placer is a value: backfill copies it to look ahead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::cli {

enum class PeerPolicy : std::uint8_t { first_fit, random, best_fit, tree, block };

class PeerPlacer {
 public:
  PeerPlacer(const scheduler::PlacementFabric& fabric, PeerPolicy policy);

  // The GPUs, or none where the groups do not fit.
  [[nodiscard]] std::vector<fabric::GpuId> place(std::uint32_t tensor, std::uint32_t groups) const;
  void take(std::span<const fabric::GpuId> gpus);
  void release(std::span<const fabric::GpuId> gpus);
  [[nodiscard]] std::uint64_t free() const { return free_gpus_; }

 private:
  using Leaf = scheduler::LeafIndex;
  [[nodiscard]] std::uint32_t holds(Leaf leaf, std::uint32_t tensor) const;
  // Of leaves [begin, end).
  [[nodiscard]] std::uint64_t hold(Leaf begin, Leaf end, std::uint32_t tensor) const;
  [[nodiscard]] std::vector<Leaf> random_order() const;
  [[nodiscard]] std::vector<Leaf> tree_order(std::uint32_t tensor, std::uint32_t groups) const;
  [[nodiscard]] std::vector<Leaf> block_order(std::uint32_t tensor, std::uint32_t groups) const;
  // Groups of a level within leaves [begin, end): the one that holds the job with least to spare, else the emptiest first.
  [[nodiscard]] std::vector<Leaf> emptiest_first(unsigned level, Leaf begin, Leaf end, std::uint32_t tensor,
                                                 std::uint32_t groups) const;
  [[nodiscard]] Leaf leaf_of(fabric::GpuId gpu) const;

  const scheduler::PlacementFabric* fabric_;
  PeerPolicy policy_;
  std::vector<std::uint64_t> free_;  // by leaf
  std::uint64_t free_gpus_ = 0;
  std::uint64_t taken_ = 0;  // times that GPUs were taken
};

}  // namespace railweave::cli
