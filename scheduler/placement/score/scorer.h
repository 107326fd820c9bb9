// The cost of candidate placements of one job: communication time per step on the residual capacities of links, and
// GPUs lost to later jobs. One per thread: it owns scratch memory. Borrows the fabric.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/score/fragmentation.h"
#include "scheduler/placement/score/job_traffic.h"
#include "scheduler/placement/score/node_preferences.h"
#include "scheduler/placement/score/route_scorer.h"

namespace railweave::scheduler {

class Scorer {
 public:
  explicit Scorer(const PlacementFabric& fabric);

  // Mb/s by bundle of PlacementFabric::bundles(): of the links that are up, or what others leave of them.
  void set_capacities(std::vector<double> bundle_mbps);

  // Residual capacity per bundle beside the traffic of other jobs; null: none is known. The values may change between
  // calls.
  void set_residual(std::shared_ptr<const std::vector<double>> bundle_mbps);
  // Mb/s by bundle of the links that are up, without what guarantees reserve: cost_alone() is computed on them. Until
  // then those of set_capacities().
  void set_up(std::vector<double> bundle_mbps);

  // Filters without the leaves behind bundles of clearly less than nominal capacity, the strictest first; none where
  // all have full rate. The same objects until the next set_capacities().
  [[nodiscard]] std::span<const std::shared_ptr<const LeafFilter>> full_rate_leaves() const {
    return full_rate_leaves_;
  }

  // Where the peers of jobs are; until then nothing is exchanged with them.
  void set_peers(PeerGpus peers) { peers_ = std::move(peers); }
  [[nodiscard]] const PeerGpus& peers() const { return peers_; }
  // For the scores that follow, on GPUs of the generation. What is exchanged with peers counts for PeersOf::counted alone, or
  // for the choice of a place, with all.
  void set_job(const JobSpec& spec, const GpuGeneration& generation, PeersOf of = PeersOf::all);
  // Of the job: those that are placed.
  [[nodiscard]] const std::vector<PlacedPeer>& placed_peers() const { return traffic_.traffic.peers; }
  // Which parts of the network are connected now; null: as where every link is up.
  void set_parts(std::shared_ptr<const NetworkParts> parts);
  // Two ranks of the placement scored last that have to reach each other and do not; none: links without capacity only.
  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> cut() const { return model_->cut(); }
  [[nodiscard]] const NetworkParts& parts() const { return parts_ ? *parts_ : fabric_->bundles().parts(); }
  // Every link is up.
  [[nodiscard]] bool nominal() const;
  [[nodiscard]] PlacementCost cost(std::span<const fabric::GpuId> gpu_of_rank);
  // The total time of cost_below() is that on routes from now on, of at most `places` of them; null: as cost(). Borrowed.
  void set_routes(RouteScorer* routes, std::uint64_t places = 0) {
    routes_ = routes;
    routes_left_ = places;
  }
  [[nodiscard]] std::uint64_t routes_left() const { return routes_left_; }
  // The total time of cost_below() counts what they leave unmet from now on; null: as cost(). Borrowed.
  void set_preferences(const NodePreferences* preferences) { preferences_ = preferences; }
  // cost() where its time may be below the bound. A place is taken to be no faster on routes than on bundles: one which is not
  // below it there is not asked for. Infinite where no place may be asked for any more.
  [[nodiscard]] PlacementCost cost_below(std::span<const fabric::GpuId> gpu_of_rank, double bound_us);
  // As if no other job were placed.
  [[nodiscard]] PlacementCost cost_alone(std::span<const fabric::GpuId> gpu_of_rank);
  // Whether cost() gives the same: no other job sends over the bundles of these GPUs.
  [[nodiscard]] bool alone(std::span<const fabric::GpuId> gpu_of_rank) const;
  [[nodiscard]] double lost_gpus(const PlacementTree& tree, std::span<const Share> shares) const {
    return fragmentation_.lost_gpus(tree, shares);
  }
  [[nodiscard]] Prediction prediction(const PlacementCost& cost) const;
  // Of cost_alone() with PeersOf::counted, whatever set_job() was told.
  [[nodiscard]] Prediction predicted_with_counted(std::span<const fabric::GpuId> gpu_of_rank);

 private:
  const PlacementFabric* fabric_;
  Fragmentation fragmentation_;
  std::vector<double> capacity_mbps_, up_mbps_;  // up: empty where it is the same
  std::shared_ptr<const std::vector<double>> residual_mbps_;
  std::shared_ptr<const NetworkParts> parts_;
  std::vector<std::shared_ptr<const LeafFilter>> full_rate_leaves_;
  std::vector<std::pair<const GpuGeneration*, std::unique_ptr<PlacementCostModel>>> models_;

  PeerGpus peers_;
  const JobSpec* spec_ = nullptr;
  const GpuGeneration* generation_ = nullptr;
  PlacementCostModel* model_ = nullptr;
  JobTraffic traffic_;
  RouteScorer* routes_ = nullptr;
  std::uint64_t routes_left_ = 0;  // places
  const NodePreferences* preferences_ = nullptr;
};

}  // namespace railweave::scheduler
