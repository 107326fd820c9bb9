// Decides where a job goes: in one group of the nearest level that holds it, with NVLink domains kept whole for others.
// The answer depends on the job, the fabric and the allocations alone, never on earlier calls. Not thread-safe: one per
// thread (it owns a PlacementTree and scratch memory); the PlacementFabric behind it is shared.
//
//   Placer placer(fabric);                    // once per thread and topology
//   placer.sync(snapshot.allocations);        // cheap: visits only chunks that changed since the last sync
//   PlacementResult result = placer.place(spec);   // changes nothing
//
// Method: a few candidates (candidates.h), BestFit's own choice first, scored by the predicted communication time on
// the residual capacities of links (scorer.h); among those within 1% of the best, the one that takes least of the
// uplinks of leaves and pods, then the one that loses the fewest GPUs to later jobs; among equals the first. With
// PlacementPolicy::best_fit the first choice alone, unscored: BestFit of Kueue's topology-aware scheduling (KEP-2724)
// made sublinear, on nested groups instead of pods; see best_fit.h.
//
// A job is placed on GPUs of one model, the one on which it is fastest, unless it may mix them; and never where no links
// join ranks that talk to each other ("jobs.unreachable"), as far as the fabric knows a network at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/explain/counterfactuals.h"
#include "scheduler/placement/fit/allocation.h"
#include "scheduler/placement/fit/placement.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/fit/placement_tree.h"
#include "scheduler/placement/score/job_traffic.h"
#include "scheduler/placement/score/route_scorer.h"

namespace railweave::scheduler {

enum class PlacementPolicy : std::uint8_t { cost, best_fit };
struct PlacerOptions {
  PlacementPolicy policy = PlacementPolicy::cost;
};

class Placer {
 public:
  explicit Placer(PlacementFabricPtr fabric, PlacerOptions options = {});
  ~Placer();
  Placer(Placer&&) noexcept;
  Placer& operator=(Placer&&) noexcept;

  [[nodiscard]] const PlacementFabric& fabric() const;
  // Brings the tree to a snapshot. What a PlacementTransaction speculated must be committed or rolled back before.
  void sync(const Allocations& allocations);
  // Mb/s by bundle of PlacementFabric::bundles(): of the links that are up, or their residual beside reservations.
  // Until then every link is up and free. up_mbps: of the links that are up, without what is reserved, for predictions;
  // empty: the same. O(bundles).
  void set_capacities(std::vector<double> bundle_mbps, std::vector<double> up_mbps = {});
  // Residual capacity per bundle beside the traffic of placed jobs (bundle_traffic.h); null: none known. Where it is
  // less than the capacity, candidates are scored by it. Read at every placement, so the values may change in between.
  void set_residual(std::shared_ptr<const std::vector<double>> bundle_mbps);
  // Which parts of the network are connected now; null: as where every link is up.
  void set_parts(std::shared_ptr<const NetworkParts> parts);
  // Where bundles and routes differ about the place that bundles choose, the best places of bundles are compared on routes
  // (placer_routes.cc). Null: on bundles alone. Borrowed.
  void set_routes(RouteScorer* routes);
  // Where the peers of jobs are (JobSpec::peers); until then nothing is exchanged with them. All of a job's peers count in the
  // choice of its place, and those that RolePeer::counted says in what is predicted.
  void set_peers(PeerGpus peers);
  [[nodiscard]] const PeerGpus& peers() const;
  // The communication of a step there beside the traffic of other jobs, on bundles, with counted peers: what places of several
  // jobs together are compared by. With PeersOf::all, what places of one job are.
  [[nodiscard]] double shared_us(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank,
                                 PeersOf peers = PeersOf::counted);
  // As if no other job used the links that are up.
  [[nodiscard]] Prediction predict(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);
  // The time of a predicted placement by which a job is faster or slower: of a step, where the job states a model or
  // states nothing and one is assumed; else of its communication. None: nothing is predicted, or it has no path.
  [[nodiscard]] static std::optional<double> period_us(const JobSpec& spec, const Placement& placement);
  // ... longer by what the place leaves unmet of the job's preferences of nodes: what a place is worth to it.
  [[nodiscard]] std::optional<double> priced_period_us(const JobSpec& spec, const Placement& placement) const;
  // For a spec that check_job_spec() accepts (another one gets outcome never, code "jobs.invalid"). What refuses it is
  // explained, with changes().
  [[nodiscard]] PlacementResult place(const JobSpec& spec);
  // ... explained without changes(), which cost as much as many placements.
  [[nodiscard]] PlacementResult place_or_say_why(const JobSpec& spec);
  // Changes of the job or of the fabric after which there would be GPUs for it (explain/counterfactuals.h).
  [[nodiscard]] std::vector<Counterfactual> changes(const JobSpec& spec, const GpuLimits& limits = {});
  // The same placement without an explanation: for callers that try many jobs.
  [[nodiscard]] std::optional<Placement> try_place(const JobSpec& spec);
  // Those of PlacementResult, for a placement that try_place() or place() made of that spec.
  [[nodiscard]] std::vector<std::string> warnings_of(const JobSpec& spec, const Placement& placement);
  // Only whether GPUs are there for it; whether links join them is left out. Taking GPUs never makes a job fit that did not.
  [[nodiscard]] bool fits(const JobSpec& spec);
  // Whether it fits, and links join its ranks where BestFit puts them: then place() has a place for it. False: place() may
  // still find one. One layout instead of several that are compared.
  [[nodiscard]] bool fits_joined(const JobSpec& spec);
  // place_or_say_why(), with predictions for the other candidates and for wider levels than the required ones.
  [[nodiscard]] PlacementResult place_with_alternatives(const JobSpec& spec);
  // Candidates scored since construction.
  [[nodiscard]] std::uint64_t scored() const;

  // The state that place() answers on: speculate on it with a PlacementTransaction (placement_transaction.h).
  [[nodiscard]] PlacementTree& tree();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Of a job that is about to start on GPUs that bundles chose: where it lies across leaf groups and holds no GPU idle, it is placed
// again, on routes, on GPUs that are free in the placer's tree. What was compared; none: nothing.
std::optional<RoutedChoice> choose_on_routes(const JobSpec& spec, Placement& placement, Placer& placer,
                                             RouteScorer& routes);

}  // namespace railweave::scheduler
