// A candidate laid out to the GPU of each rank, and the choice among scored layouts.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/collective/placement_cost.h"
#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/fit/placement_tree.h"
#include "scheduler/placement/search/candidates.h"
#include "scheduler/placement/search/packing.h"

namespace railweave::scheduler {

struct Layout {
  std::vector<Share> shares;  // in order of leaves
  std::vector<fabric::GpuId> gpu_of_rank;
  // Of a scored layout:
  PlacementCost cost;
  double lost_gpus = 0;  // to the jobs to come
  double unmet = 0;      // of the job's preferences of nodes: NodePreferences::unmet()
  [[nodiscard]] double us() const { return cost.total_us * (1 + unmet); }
};

// One per thread: it owns scratch memory. Borrows the fabric.
class LayoutMaker {
 public:
  explicit LayoutMaker(const PlacementFabric& fabric) : packing_(fabric) {}

  // Fills in shares and gpu_of_rank; the tree is the one that the candidate was found in.
  void lay_out(const Parallelism& parallelism, const Candidate& candidate, BestFit& best_fit, PlacementTree& tree,
               Layout& into);

 private:
  Packing packing_;
};

// The best of the layouts of one job. Those within kAsGood of the least time count as equally fast (the model is not
// more accurate): among them the one on nodes that the job prefers most, then the one that takes least of the uplinks that all
// jobs share, whether of leaves or of pods, then the one that loses the fewest GPUs to other jobs; among equals the first. Keeps
// its memory between jobs.
class LayoutChoice {
 public:
  static constexpr double kAsGood = 0.01;

  void reset() { offered_ = 0; }
  // True where it is the best so far; it is then swapped with the best one before.
  bool offer(Layout& layout);
  [[nodiscard]] Layout& best() { return best_; }

 private:
  Layout best_;
  double least_us_ = 0;
  std::size_t offered_ = 0;
};

}  // namespace railweave::scheduler
