// What candidates for one job's place cost: time of communication per step on what links have left, and GPUs lost to
// the jobs to come. One per thread: it owns scratch memory. Borrows the fabric.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/score/fragmentation.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::scheduler {

class Scorer {
 public:
  explicit Scorer(const PlacementFabric& fabric);

  // Mb/s by bundle of PlacementFabric::bundles(): of the links that are up, or what others leave of them.
  void set_capacities(std::vector<double> bundle_mbps);

  // What the traffic of others leaves of each bundle, or nothing that says so; may change between calls.
  void set_residual(std::shared_ptr<const std::vector<double>> bundle_mbps);
  // ... of the links that are up, whatever is promised to whom: what cost_alone() is of. Until then those of
  // set_capacities().
  void set_up(std::vector<double> bundle_mbps);

  // Filters that leave out leaves behind bundles with much less than nominal, the strictest first; none where all is
  // well. The same objects until the next set_capacities().
  [[nodiscard]] std::span<const std::shared_ptr<const LeafFilter>> full_rate_leaves() const { return full_rate_leaves_; }

  // For the scores that follow.
  void set_job(const JobSpec& spec);
  [[nodiscard]] PlacementCost cost(std::span<const fabric::GpuId> gpu_of_rank);
  // As if nobody else were there.
  [[nodiscard]] PlacementCost cost_alone(std::span<const fabric::GpuId> gpu_of_rank);
  // Whether cost() is that already: nobody else sends over the bundles of these GPUs.
  [[nodiscard]] bool alone(std::span<const fabric::GpuId> gpu_of_rank) const;
  [[nodiscard]] double lost_gpus(const PlacementTree& tree, std::span<const Share> shares) const {
    return fragmentation_.lost_gpus(tree, shares);
  }
  [[nodiscard]] Prediction prediction(const PlacementCost& cost) const;

 private:
  const PlacementFabric* fabric_;
  Fragmentation fragmentation_;
  const GpuGeneration* usual_;                   // of the fabric
  std::vector<double> capacity_mbps_, up_mbps_;  // up: empty where it is the same
  std::shared_ptr<const std::vector<double>> residual_mbps_;
  std::vector<std::shared_ptr<const LeafFilter>> full_rate_leaves_;
  std::vector<std::pair<const GpuGeneration*, std::unique_ptr<PlacementCostModel>>> models_;

  const JobSpec* spec_ = nullptr;
  const GpuGeneration* generation_ = nullptr;
  PlacementCostModel* model_ = nullptr;
  JobTraffic traffic_;
};

}  // namespace railweave::scheduler
