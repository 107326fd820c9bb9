// The last few percent for small jobs: exchanges blocks of a placement with each other and with free places as long as
// that lowers its cost, where the candidates leave something to gain: a leaf's or pod's uplinks are the bottleneck, or
// domains of several hosts are filled unevenly. A bounded search, the same for the same state. One per thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/score/scorer.h"
#include "scheduler/placement/search/job_search.h"

namespace railweave::scheduler {

class Refinement {
 public:
  explicit Refinement(const PlacementFabric& fabric);

  struct Start {
    const JobSpec* spec;
    const PlacementTree* tree;
    const LeafFilter* filter;  // null: everywhere
    unsigned level;            // of the group that everything must stay in
    LeafIndex inside;          // any leaf of it
  };
  // Worth trying: the job requests nothing that exchanges could break, and the cost shows that a better one may exist.
  [[nodiscard]] bool applies(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank,
                             const PlacementCost& cost) const;
  // True where it found a cost lower by more than `margin`; gpu_of_rank and cost are then the better ones.
  bool improve(const Start& start, Scorer& scorer, double margin, std::vector<fabric::GpuId>& gpu_of_rank,
               PlacementCost& cost);

 private:
  // Where the blocks of a trial are; GPUs of a block follow each other by rail.
  struct Block {
    LeafIndex leaf = 0;
    std::uint64_t mask = 0;
  };
  [[nodiscard]] std::uint64_t free_gpus(const Start& start, LeafIndex leaf) const;  // free and not used by the trial
  bool put(const Start& start, std::size_t block, LeafIndex leaf);
  void write();
  bool better(Scorer& scorer);
  void find_places(const Start& start);
  bool exchange(Scorer& scorer);
  bool move_one(const Start& start, Scorer& scorer);
  bool move_two(const Start& start, Scorer& scorer);
  bool move_groups(const Start& start, Scorer& scorer);

  const PlacementFabric* fabric_;
  bool domains_span_leaves_ = false;
  std::uint32_t size_ = 1;     // of a block
  std::vector<Block> blocks_;  // of the trial
  std::vector<Block> best_blocks_;
  std::vector<LeafIndex> places_;           // leaves that may take a block
  std::vector<LeafIndex> representatives_;  // of them, one of each group above leaves
  std::vector<fabric::GpuId> trial_, best_;
  PlacementCost best_cost_;
  double least_us_ = 0;
  std::uint64_t scores_left_ = 0;  // scores that may still be asked for
};

}  // namespace railweave::scheduler
