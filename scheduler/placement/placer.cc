#include "scheduler/placement/placer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fabric/base/fnv1a.h"
#include "scheduler/collective/traffic.h"
#include "scheduler/placement/explain/explain.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/score/scorer.h"
#include "scheduler/placement/score/summary.h"
#include "scheduler/placement/search/candidates.h"
#include "scheduler/placement/search/claims.h"
#include "scheduler/placement/search/job_search.h"
#include "scheduler/placement/search/layout.h"
#include "scheduler/placement/search/node_filters.h"
#include "scheduler/placement/search/refinement.h"

namespace railweave::scheduler {

using fabric::HostId;

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
        refinement_(*fabric_) {}

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
  [[nodiscard]] Prediction predict(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
    scorer_.set_job(spec);
    return scorer_.prediction(scorer_.cost_alone(gpu_of_rank));
  }
  [[nodiscard]] PlacementResult place(const JobSpec& spec, bool with_alternatives);
  [[nodiscard]] std::optional<Placement> try_place(const JobSpec& spec);
  [[nodiscard]] bool fits(const JobSpec& spec);

 private:
  struct ScoredCandidate {
    const Candidate* candidate;
    PlacementCost shared, alone;
  };

  [[nodiscard]] PlacementResult refuse(const JobSpec& spec, const JobSearch::Filter& filter,
                                       std::vector<HostId> excluded);
  Result<std::vector<Candidate>> candidates_of(const JobSpec& spec, const Claims& claims,
                                               const NodeFilters::Filters& filters);
  [[nodiscard]] bool is_new_layout(std::span<const fabric::GpuId> gpu_of_rank);
  void score(const Claims& claims, bool compared, Layout& layout);
  [[nodiscard]] PlacementCost cost_alone(const Layout& layout);
  void refine(const JobSpec& spec, const Candidate& chosen, const LeafFilter* filter);
  [[nodiscard]] Placement placement_of_best(const JobSpec& spec, const Claims& claims, const JobShape& shape);
  [[nodiscard]] Placement choose(const JobSpec& spec, const Claims& claims, const std::vector<Candidate>& list,
                                 std::vector<Alternative>* alternatives);
  [[nodiscard]] Alternative alternative(std::string change, const PlacementCost& alone,
                                        const PlacementCost& shared) const;
  void add_scored(std::span<const ScoredCandidate> scored, const Candidate* chosen,
                  std::vector<Alternative>& alternatives) const;
  void add_one_site(const JobSpec& spec, const JobSearch::Filter& filter, const std::vector<HostId>& excluded,
                    PlacementResult& result);
  void add_wider_levels(const JobSpec& spec, const Claims& claims, PlacementResult& result);
  [[nodiscard]] std::vector<HostId> excluded_by(const JobSpec& spec, std::vector<std::string>& warnings) const;
  [[nodiscard]] const NodeFilters::Filters& filters_of(const JobSpec& spec) {
    return node_filters_.of(spec, scorer_.full_rate_leaves());
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
  LayoutChoice choice_;
  Layout trial_;
  std::vector<std::uint64_t> seen_;  // digests of this job's layouts that are scored
  std::uint64_t scored_ = 0;
};

PlacementResult Placer::Impl::place(const JobSpec& spec, bool with_alternatives) {
  const auto refused = [](const Error& error) {
    PlacementResult result;
    result.outcome = Outcome::never;
    result.explanation.code = error.code;
    result.explanation.message = error.text();
    return result;
  };
  if (const auto checked = check_job_spec(spec); !checked) return refused(checked.error());
  if (spec.model) {
    if (const auto checked = check_model(*spec.model, spec.parallelism); !checked) return refused(checked.error());
  }

  std::vector<std::string> warnings;
  std::vector<HostId> excluded = excluded_by(spec, warnings);
  if (spec.across_sites && !fabric_->hierarchy().joins_sites()) {
    warnings.emplace_back("no links join the sites of this fabric: acrossSites changes nothing");
  }
  const NodeFilters::Filters& filters = filters_of(spec);
  PlacementTransaction exclusion(tree_, fabric_->topology());
  for (const HostId host : excluded) exclusion.set_available(host, false);

  PlacementResult result;
  bool fits = true;
  {
    const Claims claims(search_, tree_, spec, filters.allowed);
    auto list = candidates_of(spec, claims, filters);
    if (!list) {
      result = refused(list.error());
    } else if (!list->empty()) {
      result.outcome = Outcome::placed;
      result.placement = choose(spec, claims, *list, with_alternatives ? &result.alternatives : nullptr);
      if (with_alternatives && options_.policy == PlacementPolicy::cost) {
        add_wider_levels(spec, claims, result);
        if (result.placement.level == fabric::LevelKind::wan) add_one_site(spec, filters.allowed, excluded, result);
      }
    } else {
      fits = false;
    }
  }
  if (!fits) result = refuse(spec, filters.allowed, std::move(excluded));
  result.warnings = std::move(warnings);
  return result;
}

Result<std::vector<Candidate>> Placer::Impl::candidates_of(const JobSpec& spec, const Claims& claims,
                                                           const NodeFilters::Filters& filters) {
  if (options_.policy == PlacementPolicy::cost) {
    scorer_.set_job(spec);
    if (!claims.any()) return candidates(search_, {&spec, &tree_, filters.allowed, filters.full_rate});
    std::vector<JobSearch::Filter> full_rate;
    for (const auto& filter : filters.full_rate) full_rate.push_back(intersection(claims.filter(), filter));
    return candidates(search_, {&spec, &tree_, claims.filter(), full_rate});
  }
  auto found = search_.find(spec, tree_, claims.filter());
  if (!found) return std::unexpected(std::move(found.error()));
  std::vector<Candidate> list;
  if (*found) list.push_back({std::move(**found)});
  return list;
}

std::optional<Placement> Placer::Impl::try_place(const JobSpec& spec) {
  if (!check_job_spec(spec) || (spec.model && !check_model(*spec.model, spec.parallelism))) return std::nullopt;
  std::vector<std::string> warnings;
  PlacementTransaction exclusion(tree_, fabric_->topology());
  for (const HostId host : excluded_by(spec, warnings)) exclusion.set_available(host, false);
  const NodeFilters::Filters& filters = filters_of(spec);
  const Claims claims(search_, tree_, spec, filters.allowed);
  const auto list = candidates_of(spec, claims, filters);
  if (!list || list->empty()) return std::nullopt;
  return choose(spec, claims, *list, nullptr);
}

bool Placer::Impl::fits(const JobSpec& spec) {
  if (!check_job_spec(spec) || (spec.model && !check_model(*spec.model, spec.parallelism))) return false;
  std::vector<std::string> warnings;
  PlacementTransaction exclusion(tree_, fabric_->topology());
  for (const HostId host : excluded_by(spec, warnings)) exclusion.set_available(host, false);
  return search_.fits(spec, tree_, filters_of(spec).allowed);
}

bool Placer::Impl::is_new_layout(std::span<const fabric::GpuId> gpu_of_rank) {
  Fnv1a digest;
  for (const auto gpu : gpu_of_rank) digest.add(gpu.value());
  if (std::ranges::find(seen_, digest.value()) != seen_.end()) return false;
  seen_.push_back(digest.value());
  return true;
}

void Placer::Impl::score(const Claims& claims, bool compared, Layout& layout) {
  layout.cost = scorer_.cost(layout.gpu_of_rank);
  layout.lost_gpus = 0;
  if (compared) {
    layout.lost_gpus = scorer_.lost_gpus(*on_, layout.shares);
    layout.used = layouts_.groups_used(layout.shares);
    // GPUs that the job would hold idle are lost to other jobs, too.
    if (claims.any()) layout.lost_gpus += static_cast<double>(claims.idle_gpus(*fabric_, layout.gpu_of_rank).size());
  }
  ++scored_;
}

PlacementCost Placer::Impl::cost_alone(const Layout& layout) {
  return scorer_.alone(layout.gpu_of_rank) ? layout.cost : scorer_.cost_alone(layout.gpu_of_rank);
}

void Placer::Impl::refine(const JobSpec& spec, const Candidate& chosen, const LeafFilter* filter) {
  Layout& best = choice_.best();
  if (!refinement_.applies(spec, best.gpu_of_rank, best.cost)) return;
  const unsigned farthest = std::min(chosen.found.shape.max_level, fabric_->hierarchy().top(false));
  const Refinement::Start start{.spec = &spec,
                                .tree = on_,
                                .filter = filter,
                                .level = std::max(farthest, chosen.found.fit.level),
                                .inside = best.shares.front().leaf};
  refinement_.improve(start, scorer_, LayoutChoice::kAsGood, best.gpu_of_rank, best.cost);
}

Placement Placer::Impl::placement_of_best(const JobSpec& spec, const Claims& claims, const JobShape& shape) {
  Placement placement;
  placement.gpu_of_rank = std::move(choice_.best().gpu_of_rank);
  placement.idle_gpus = claims.idle_gpus(*fabric_, placement.gpu_of_rank);
  placement.block_gpus = shape.fit.block;
  summarize(*fabric_, spec.parallelism, placement);
  return placement;
}

Placement Placer::Impl::choose(const JobSpec& spec, const Claims& claims, const std::vector<Candidate>& list,
                               std::vector<Alternative>* alternatives) {
  if (options_.policy == PlacementPolicy::best_fit) {
    layouts_.lay_out(spec.parallelism, list.front(), search_.best_fit(), *on_, choice_.best());
    return placement_of_best(spec, claims, list.front().found.shape);
  }
  // 1. Every layout once, scored; the best is kept.
  const bool compared = list.size() > 1;
  const Candidate* chosen = nullptr;
  std::vector<ScoredCandidate> scored;
  seen_.clear();
  choice_.reset();
  for (const Candidate& candidate : list) {
    layouts_.lay_out(spec.parallelism, candidate, search_.best_fit(), *on_, trial_);
    if (compared && !is_new_layout(trial_.gpu_of_rank)) continue;
    score(claims, compared, trial_);
    if (alternatives != nullptr) scored.push_back({&candidate, trial_.cost, cost_alone(trial_)});
    if (choice_.offer(trial_)) chosen = &candidate;
  }
  // 2. Small jobs are refined block by block.
  const JobShape& shape = chosen->found.shape;
  refine(spec, *chosen, list.front().found.shape.fit.filter.get());
  // 3. Predictions and the answer.
  const Prediction predicted = scorer_.prediction(cost_alone(choice_.best()));
  if (alternatives != nullptr) add_scored(scored, chosen, *alternatives);
  Placement placement = placement_of_best(spec, claims, shape);
  placement.predicted = predicted;
  return placement;
}

// Of candidates with the same text the fastest.
void Placer::Impl::add_scored(std::span<const ScoredCandidate> scored, const Candidate* chosen,
                              std::vector<Alternative>& alternatives) const {
  for (const auto& [candidate, shared, alone] : scored) {
    if (candidate == chosen) continue;
    Alternative other = alternative(text_of(candidate->change, fabric_->hierarchy(), candidate->found), alone, shared);
    const auto known = std::ranges::find(alternatives, other.change, &Alternative::change);
    if (known == alternatives.end()) {
      alternatives.push_back(std::move(other));
    } else if (other.shared_communication_us < known->shared_communication_us) {
      *known = std::move(other);
    }
  }
}

Alternative Placer::Impl::alternative(std::string change, const PlacementCost& alone,
                                      const PlacementCost& shared) const {
  const Prediction of_alone = scorer_.prediction(alone), of_shared = scorer_.prediction(shared);
  return {std::move(change), of_alone.step_us, of_alone.communication_us, of_shared.step_us,
          of_shared.communication_us};
}

// What a required level costs: the same job one level farther.
void Placer::Impl::add_wider_levels(const JobSpec& spec, const Claims& claims, PlacementResult& result) {
  struct Asked {
    LevelRequest JobSpec::* request;
    std::string_view name;
  };
  const Hierarchy& hierarchy = fabric_->hierarchy();
  for (const auto& [request, name] : {Asked{&JobSpec::context, "context"}, Asked{&JobSpec::expert, "expert"},
                                      Asked{&JobSpec::stage, "pipeline"}, Asked{&JobSpec::job, "job"}}) {
    const auto required = (spec.*request).required;
    if (!required) continue;
    const unsigned from = hierarchy.level_of(*required);
    const unsigned to = from == Hierarchy::kNoLevel ? 0 : from + 1;
    if (to > hierarchy.top(spec.across_sites)) continue;
    JobSpec wider = spec;
    (wider.*request) = {.required = hierarchy.kind(to)};
    auto list = candidates(search_, {&wider, &tree_, claims.filter(), {}});
    if (!list || list->empty()) continue;
    const Placement other = choose(wider, claims, *list, nullptr);
    result.alternatives.push_back(alternative("allow " + std::string(fabric::to_string(hierarchy.kind(to))) + " for " +
                                                  std::string(name) + " instead of " +
                                                  std::string(fabric::to_string(*required)),
                                              scorer_.cost_alone(other.gpu_of_rank), scorer_.cost(other.gpu_of_rank)));
  }
}

// What spanning sites costs: the same job in one of them, where nothing else runs.
void Placer::Impl::add_one_site(const JobSpec& spec, const JobSearch::Filter& filter,
                                const std::vector<HostId>& excluded, PlacementResult& result) {
  if (!empty_) empty_.emplace(fabric_->hierarchy_ptr());
  PlacementTransaction exclusion(*empty_, fabric_->topology());
  for (const HostId host : excluded) exclusion.set_available(host, false);
  JobSpec near = spec;
  near.across_sites = false;
  const Claims claims(search_, *empty_, near, filter);
  const auto list = candidates(search_, {&near, &*empty_, claims.filter(), {}});
  if (!list || list->empty()) return;
  on_ = &*empty_;
  const Prediction other = *choose(near, claims, *list, nullptr).predicted;
  on_ = &tree_;
  result.alternatives.push_back(
      {"in one site instead of " + std::to_string(result.placement.groups_at_level) + ", once one has enough free GPUs",
       other.step_us, other.communication_us, other.step_us, other.communication_us});
}

PlacementResult Placer::Impl::refuse(const JobSpec& spec, const JobSearch::Filter& filter,
                                     std::vector<HostId> excluded) {
  if (!empty_) empty_.emplace(fabric_->hierarchy_ptr());
  PlacementTransaction exclusion(*empty_, fabric_->topology());
  for (const HostId host : excluded) exclusion.set_available(host, false);
  return explain(*fabric_, search_,
                 {.spec = &spec, .filter = filter, .excluded = std::move(excluded), .now = &tree_, .empty = &*empty_});
}

std::vector<HostId> Placer::Impl::excluded_by(const JobSpec& spec, std::vector<std::string>& warnings) const {
  std::vector<HostId> hosts;
  for (const auto& name : spec.exclude_nodes) {
    if (const HostId host = fabric_->topology().find_host(name)) {
      hosts.push_back(host);
    } else {
      warnings.push_back("excluded node '" + name + "' is not in the fabric");
    }
  }
  for (const auto& name : spec.only_nodes) {
    if (!fabric_->topology().find_host(name)) warnings.push_back("node '" + name + "' is not in the fabric");
  }
  std::ranges::sort(hosts);
  const auto repeated = std::ranges::unique(hosts);
  hosts.erase(repeated.begin(), repeated.end());
  return hosts;
}

Placer::Placer(PlacementFabricPtr fabric, PlacerOptions options)
    : impl_(std::make_unique<Impl>(std::move(fabric), options)) {}
Placer::~Placer() = default;
Placer::Placer(Placer&&) noexcept = default;
Placer& Placer::operator=(Placer&&) noexcept = default;

const PlacementFabric& Placer::fabric() const { return impl_->fabric(); }
void Placer::sync(const Allocations& allocations) { impl_->tree().sync(allocations); }
void Placer::set_capacities(std::vector<double> bundle_mbps, std::vector<double> up_mbps) {
  impl_->set_capacities(std::move(bundle_mbps), std::move(up_mbps));
}
void Placer::set_residual(std::shared_ptr<const std::vector<double>> bundle_mbps) {
  impl_->set_residual(std::move(bundle_mbps));
}
Prediction Placer::predict(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  return impl_->predict(spec, gpu_of_rank);
}
PlacementResult Placer::place(const JobSpec& spec) { return impl_->place(spec, false); }
PlacementResult Placer::place_with_alternatives(const JobSpec& spec) { return impl_->place(spec, true); }
std::optional<Placement> Placer::try_place(const JobSpec& spec) { return impl_->try_place(spec); }
bool Placer::fits(const JobSpec& spec) { return impl_->fits(spec); }
std::uint64_t Placer::scored() const { return impl_->scored(); }
PlacementTree& Placer::tree() { return impl_->tree(); }

}  // namespace railweave::scheduler
