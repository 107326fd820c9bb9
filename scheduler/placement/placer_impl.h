// The inside of Placer: what it owns, and the steps of an answer. placer.cc asks, placer_models.cc chooses models of GPUs
// and sees to paths, placer_choice.cc compares layouts, placer_routes.cc the best of them on routes.
#pragma once

#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/placement/placer.h"
#include "scheduler/placement/score/node_preferences.h"
#include "scheduler/placement/score/scorer.h"
#include "scheduler/placement/search/candidates.h"
#include "scheduler/placement/search/claims.h"
#include "scheduler/placement/search/job_search.h"
#include "scheduler/placement/search/layout.h"
#include "scheduler/placement/search/node_filters.h"
#include "scheduler/placement/search/refinement.h"

namespace railweave::scheduler {

class Placer::Impl {
 public:
  Impl(PlacementFabricPtr fabric, PlacerOptions options)
      : options_(options),
        fabric_(std::move(fabric)),
        tree_(fabric_->hierarchy_ptr()),
        node_filters_(*fabric_),
        search_(fabric_->hierarchy_ptr()),
        layouts_(*fabric_),
        scorer_(*fabric_),
        refinement_(*fabric_),
        models_(fabric_->gpu_models().count()) {
    std::iota(models_.begin(), models_.end(), 0U);
  }

  [[nodiscard]] const PlacementFabric& fabric() const { return *fabric_; }
  [[nodiscard]] PlacementTree& tree() { return tree_; }
  [[nodiscard]] std::uint64_t scored() const { return scored_; }
  void set_capacities(std::vector<double> bundle_mbps, std::vector<double> up_mbps) {
    scorer_.set_capacities(std::move(bundle_mbps));
    if (!up_mbps.empty()) scorer_.set_up(std::move(up_mbps));
    node_filters_.clear();
  }
  void set_residual(std::shared_ptr<const std::vector<double>> bundle_mbps) {
    scorer_.set_residual(std::move(bundle_mbps));
  }
  void set_parts(std::shared_ptr<const NetworkParts> parts) { scorer_.set_parts(std::move(parts)); }
  void set_routes(RouteScorer* routes) { routes_ = routes; }
  [[nodiscard]] Prediction predict(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
    scorer_.set_job(spec, generation_of(*fabric_, gpu_of_rank), PeersOf::counted);
    return scorer_.prediction(scorer_.cost_alone(gpu_of_rank));
  }
  void set_peers(PeerGpus peers) { scorer_.set_peers(std::move(peers)); }
  [[nodiscard]] const PeerGpus& peers() const { return scorer_.peers(); }
  [[nodiscard]] double shared_us(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank, PeersOf peers) {
    scorer_.set_job(spec, generation_of(*fabric_, gpu_of_rank), peers);
    return scorer_.cost(gpu_of_rank).total_us;
  }
  [[nodiscard]] PlacementResult place(const JobSpec& spec, bool with_alternatives);
  [[nodiscard]] std::vector<std::string> warnings_of(const JobSpec& spec, const Placement& placement);
  [[nodiscard]] std::optional<Placement> try_place(const JobSpec& spec);
  [[nodiscard]] bool fits(const JobSpec& spec);
  [[nodiscard]] bool fits_joined(const JobSpec& spec);
  [[nodiscard]] std::vector<Counterfactual> changes(const JobSpec& spec, const GpuLimits& limits);

 private:
  struct ScoredCandidate {
    const Candidate* candidate;
    PlacementCost shared, alone;
    std::vector<fabric::GpuId> gpu_of_rank;
  };

  // A layout that was scored, for routes to judge.
  struct Finalist {
    const Candidate* candidate;
    PlacementCost cost;
    std::vector<fabric::GpuId> gpu_of_rank;
  };

  [[nodiscard]] std::span<const unsigned> models_of(const JobSpec& spec) const;
  [[nodiscard]] PlacementResult place_on(const JobSpec& spec, unsigned model, bool with_alternatives,
                                         const std::vector<fabric::HostId>& excluded);
  [[nodiscard]] PlacementResult place_on_one_model(const JobSpec& spec, std::span<const unsigned> models,
                                                   bool with_alternatives, const std::vector<fabric::HostId>& excluded);
  [[nodiscard]] std::optional<Placement> try_on(const JobSpec& spec, unsigned model);
  [[nodiscard]] bool has_path(const Placement& placement) const;
  [[nodiscard]] std::optional<Placement> on_one_part(const JobSpec& spec, unsigned model);
  [[nodiscard]] PlacementResult refuse_path(const JobSpec& spec, unsigned model, const Placement& placement);
  void see_to_sites(const JobSpec& spec, PlacementResult& result);
  void see_to_cpu_roles(const JobSpec& spec, PlacementResult& result);
  void add_warnings(const JobSpec& spec, const Placement& placement, std::vector<std::string>& warnings) const;
  void add_models(const Placement& placement, std::vector<std::string>& warnings) const;
  void add_reduction(const JobSpec& spec, const Placement& placement, std::vector<std::string>& warnings) const;
  [[nodiscard]] PlacementResult refuse(const JobSpec& spec, const JobSearch::Filter& filter,
                                       std::vector<fabric::HostId> excluded);
  Result<std::vector<Candidate>> candidates_of(const JobSpec& spec, unsigned model, const Claims& claims,
                                               const NodeFilters::Filters& filters);
  // What a job on GPUs of that model is scored for; on any, the slowest that it may get.
  [[nodiscard]] const GpuGeneration& generation_on(const JobSpec& spec, unsigned model) const;
  [[nodiscard]] bool is_new_layout(std::span<const fabric::GpuId> gpu_of_rank);
  void score(const Claims& claims, bool compared, Layout& layout);
  void add_near_peers(const JobSpec& spec, const JobSearch::Filter& filter, std::vector<Candidate>& list);
  void set_preferences(const JobSpec& spec);
  void add_preferred(const JobSpec& spec, const JobSearch::Filter& filter, std::vector<Candidate>& list);
  [[nodiscard]] PlacementCost cost_alone(const Layout& layout);
  void reorder(const JobSpec& spec, const Claims& claims, const Candidate& chosen);
  [[nodiscard]] std::optional<Refinement::Start> exchange_of(const JobSpec& spec, const Candidate& chosen,
                                                             const LeafFilter* filter);
  // Nothing where a refinement does not apply to the best, or bundles promise nothing from it. promised: routes do.
  [[nodiscard]] std::optional<Refinement::Start> refinement_of(const JobSpec& spec, const Candidate& chosen,
                                                               const LeafFilter* filter, bool promised);
  void seat_on_preferred(const JobSpec& spec, const Candidate& chosen, const LeafFilter* filter);
  void refine(const JobSpec& spec, const Candidate& chosen, const LeafFilter* filter);
  [[nodiscard]] bool keeps_finalists(const JobSpec& spec) const;
  void choose_on_routes(const JobSpec& spec, const LeafFilter* filter, const Candidate*& chosen);
  [[nodiscard]] Placement placement_of_best(const JobSpec& spec, const Claims& claims, const JobShape& shape);
  [[nodiscard]] Placement choose(const JobSpec& spec, const Claims& claims, const std::vector<Candidate>& list,
                                 std::vector<Alternative>* alternatives);
  [[nodiscard]] Alternative alternative(std::string change, const PlacementCost& alone,
                                        const PlacementCost& shared) const;
  void add_scored(std::span<const ScoredCandidate> scored, const Candidate* chosen,
                  std::vector<Alternative>& alternatives) const;
  void add_one_site(const JobSpec& spec, const JobSearch::Filter& filter, const std::vector<fabric::HostId>& excluded,
                    PlacementResult& result);
  void add_wider_levels(const JobSpec& spec, const Claims& claims, PlacementResult& result);
  [[nodiscard]] std::vector<fabric::HostId> excluded_by(const JobSpec& spec, std::vector<std::string>& warnings) const;
  [[nodiscard]] std::vector<TolerantJob> tolerant_jobs(const JobSpec& spec);
  [[nodiscard]] const NodeFilters::Filters& filters_of(const JobSpec& spec, unsigned model) {
    return node_filters_.of(spec, model, scorer_.full_rate_leaves());
  }

  PlacerOptions options_;
  PlacementFabricPtr fabric_;
  PlacementTree tree_;
  std::optional<PlacementTree> empty_;  // the fabric with nothing on it, made when first needed
  PlacementTree* on_ = &tree_;          // the one that candidates are laid out in
  NodeFilters node_filters_;
  JobSearch search_;
  LayoutMaker layouts_;
  Scorer scorer_;
  Refinement refinement_;
  NodePreferences preferences_;  // of the job whose place is chosen
  LayoutChoice choice_;
  Layout trial_;
  std::vector<std::uint64_t> seen_;  // digests of this job's layouts that are scored
  std::uint64_t scored_ = 0;
  std::vector<unsigned> models_;  // of the fabric
  RouteScorer* routes_ = nullptr;
  std::vector<Finalist> finalists_;     // of this job, where routes may judge them
  std::optional<RoutedChoice> routed_;  // of the last choice
  std::unique_ptr<Impl> whole_;         // nothing on it and all links between sites in use; made when first needed
};

// For a spec or a level that no state of the fabric can meet.
PlacementResult refused(const Error& error);

}  // namespace railweave::scheduler
