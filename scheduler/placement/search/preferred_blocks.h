// Blocks of jobs that are too large to be refined, one by one to nodes that they prefer: where such nodes are free for a part of a
// job alone, or only a part of it is worth moving. Blocks that prefer most to be elsewhere go first; of as many as have somewhere
// to go, the number that is best is found by halves, then again from there. A bounded search, the same for the same state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/score/scorer.h"
#include "scheduler/placement/search/refinement.h"

namespace railweave::scheduler {

class PreferredBlocks {
 public:
  // Borrows all of it. start.preferences are the job's, and those that the scorer counts.
  PreferredBlocks(const PlacementFabric& fabric, const Refinement::Start& start, Scorer& scorer);

  // us: of gpu_of_rank, with preferences. True where it found a lower one, at gpu_of_rank.
  bool improve(double us, std::vector<fabric::GpuId>& gpu_of_rank);

 private:
  struct Block {
    std::size_t first;  // rank
    double unmet;
    GroupIndex group;  // of the level above leaves
  };
  struct Room {  // for one block
    std::vector<fabric::GpuId> gpus;
    double unmet;
    unsigned distance;  // level at which the job has ranks around it
    GroupIndex group;   // as Block::group
  };
  [[nodiscard]] std::vector<Block> blocks() const;  // those that prefer most to be elsewhere first
  [[nodiscard]] std::vector<Room> rooms(double below) const;
  [[nodiscard]] std::vector<fabric::GpuId> free_of_domain(std::uint32_t domain, double below) const;
  [[nodiscard]] bool inside(LeafIndex leaf) const;
  [[nodiscard]] std::vector<fabric::GpuId> with_first(std::size_t count, std::span<const Block> blocks,
                                                      std::span<const Room> rooms) const;
  bool try_numbers(std::span<const Block> blocks, std::span<const Room> rooms);
  bool try_inside_groups(std::span<const Block> blocks, std::span<const Room> rooms);
  [[nodiscard]] GroupIndex group_of(fabric::GpuId gpu) const;
  [[nodiscard]] double unmet(fabric::GpuId gpu) const { return start_.preferences->unmet(fabric_.leaf(gpu)); }

  const PlacementFabric& fabric_;
  const Hierarchy& hierarchy_;
  const Refinement::Start& start_;
  Scorer& scorer_;
  std::vector<fabric::GpuId> gpus_;  // the best so far
  std::vector<fabric::GpuId> held_;  // of it, ascending
  double least_us_ = 0;
  std::size_t scores_left_ = 0;
};

}  // namespace railweave::scheduler
