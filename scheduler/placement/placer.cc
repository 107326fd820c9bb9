#include "scheduler/placement/placer.h"

#include <algorithm>
#include <map>
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
#include "scheduler/placement/search/packing.h"
#include "scheduler/placement/search/refinement.h"

namespace railweave::scheduler {

using fabric::HostId;

namespace {

constexpr double kAsGood = 0.01;  // times this near are the same: the model is no better

// Filters as far as they all allow.
JobSearch::Filter both(const JobSearch::Filter& a, const JobSearch::Filter& b) {
  if (!a) return b;
  auto filter = std::make_shared<LeafFilter>(*a);
  for (std::size_t leaf = 0; leaf < filter->size(); ++leaf) (*filter)[leaf] &= (*b)[leaf];
  return filter;
}

}  // namespace

class Placer::Impl {
 public:
  Impl(PlacementFabricPtr fabric, PlacerOptions options)
      : options_(options),
        fabric_(std::move(fabric)),
        tree_(fabric_->hierarchy_ptr()),
        search_(fabric_->hierarchy_ptr()),
        packing_(*fabric_),
        scorer_(*fabric_),
        refinement_(*fabric_) {}

  [[nodiscard]] const PlacementFabric& fabric() const { return *fabric_; }
  [[nodiscard]] PlacementTree& tree() { return tree_; }
  [[nodiscard]] std::uint64_t scored() const { return scored_; }
  void set_capacities(std::vector<double> bundle_mbps, std::vector<double> up_mbps) {
    scorer_.set_capacities(std::move(bundle_mbps));
    if (!up_mbps.empty()) scorer_.set_up(std::move(up_mbps));
    filters_.clear();
  }
  void set_left(std::shared_ptr<const std::vector<double>> bundle_mbps) { scorer_.set_left(std::move(bundle_mbps)); }
  [[nodiscard]] Prediction predict(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
    scorer_.set_job(spec);
    return scorer_.prediction(scorer_.cost_alone(gpu_of_rank));
  }
  [[nodiscard]] PlacementResult place(const JobSpec& spec, bool with_alternatives);
  [[nodiscard]] std::optional<Placement> try_place(const JobSpec& spec);
  [[nodiscard]] bool fits(const JobSpec& spec);

 private:
  // One that is laid out to the GPU.
  struct Laid {
    std::vector<Share> shares;
    std::vector<fabric::GpuId> gpu_of_rank;
    PlacementCost cost;
    double lost_gpus = 0;
    std::pair<std::uint32_t, std::uint32_t> spans;  // leaf groups and pods that it uses
  };
  struct Filters {
    std::map<std::string, std::string> selector;
    std::vector<std::string> only_nodes;
    JobSearch::Filter usual;
    std::vector<JobSearch::Filter> sound;
  };

  [[nodiscard]] PlacementResult refuse(const JobSpec& spec, const JobSearch::Filter& filter,
                                       std::vector<HostId> excluded);
  Result<std::vector<Candidate>> candidates_of(const JobSpec& spec, const Claims& claims, const Filters& filters);
  void lay_out(const JobSpec& spec, const Candidate& candidate, Laid& into);
  [[nodiscard]] std::uint32_t groups_used(std::span<const Share> shares, fabric::LevelKind kind) const;
  [[nodiscard]] Placement choose(const JobSpec& spec, const Claims& claims, const std::vector<Candidate>& list,
                                 std::vector<Alternative>* alternatives);
  [[nodiscard]] Alternative alternative(std::string change, const PlacementCost& alone,
                                        const PlacementCost& shared) const;
  void add_one_site(const JobSpec& spec, const JobSearch::Filter& filter, const std::vector<HostId>& excluded,
                    PlacementResult& result);
  void add_wider_levels(const JobSpec& spec, const Claims& claims, PlacementResult& result);
  [[nodiscard]] std::vector<HostId> excluded_by(const JobSpec& spec, std::vector<std::string>& warnings) const;
  [[nodiscard]] const Filters& filters_of(const JobSpec& spec);

  PlacerOptions options_;
  PlacementFabricPtr fabric_;
  PlacementTree tree_;
  std::optional<PlacementTree> empty_;  // the fabric with nothing on it, made when first needed
  PlacementTree* on_ = &tree_;          // the one that candidates are laid out in
  JobSearch search_;
  Packing packing_;
  Scorer scorer_;
  Refinement refinement_;
  std::uint64_t scored_ = 0;
  Laid best_, laid_;
  std::vector<std::uint64_t> seen_;  // digests of layouts scored already
  // The selectors used last, so that an index made for one is found again.
  static constexpr std::size_t kMaxFilters = 8;
  std::vector<Filters> filters_;
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
    warnings.emplace_back("no links join sites of this fabric: acrossSites changes nothing");
  }
  const Filters& filters = filters_of(spec);
  PlacementTransaction exclusion(tree_, fabric_->topology());
  for (const HostId host : excluded) exclusion.set_available(host, false);

  PlacementResult result;
  bool fits = true;
  {
    const Claims claims(search_, tree_, spec, filters.usual);
    auto list = candidates_of(spec, claims, filters);
    if (!list) {
      result = refused(list.error());
    } else if (!list->empty()) {
      result.outcome = Outcome::placed;
      result.placement = choose(spec, claims, *list, with_alternatives ? &result.alternatives : nullptr);
      if (with_alternatives && options_.policy == PlacementPolicy::cost) {
        add_wider_levels(spec, claims, result);
        if (result.placement.level == fabric::LevelKind::wan) add_one_site(spec, filters.usual, excluded, result);
      }
    } else {
      fits = false;
    }
  }
  if (!fits) result = refuse(spec, filters.usual, std::move(excluded));
  result.warnings = std::move(warnings);
  return result;
}

Result<std::vector<Candidate>> Placer::Impl::candidates_of(const JobSpec& spec, const Claims& claims,
                                                           const Filters& filters) {
  if (options_.policy == PlacementPolicy::cost) {
    scorer_.set_job(spec);
    if (!claims.any()) return candidates(search_, {&spec, &tree_, filters.usual, filters.sound});
    std::vector<JobSearch::Filter> sound;
    for (const auto& filter : filters.sound) sound.push_back(both(claims.filter(), filter));
    return candidates(search_, {&spec, &tree_, claims.filter(), sound});
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
  const Filters& filters = filters_of(spec);
  const Claims claims(search_, tree_, spec, filters.usual);
  const auto list = candidates_of(spec, claims, filters);
  if (!list || list->empty()) return std::nullopt;
  return choose(spec, claims, *list, nullptr);
}

bool Placer::Impl::fits(const JobSpec& spec) {
  if (!check_job_spec(spec) || (spec.model && !check_model(*spec.model, spec.parallelism))) return false;
  std::vector<std::string> warnings;
  PlacementTransaction exclusion(tree_, fabric_->topology());
  for (const HostId host : excluded_by(spec, warnings)) exclusion.set_available(host, false);
  return search_.fits(spec, tree_, filters_of(spec).usual);
}

void Placer::Impl::lay_out(const JobSpec& spec, const Candidate& candidate, Laid& into) {
  const JobShape& shape = candidate.found.shape;
  FitRequest request{.rungs = shape.rungs, .count = shape.count, .max_level = shape.max_level};
  const FitIndex& index = on_->fit_index(shape.fit);
  into.shares.clear();
  const auto distribute = [&](const Fit& fit) {
    const auto shares = search_.best_fit().distribute(index, request, fit);
    into.shares.insert(into.shares.end(), shares.begin(), shares.end());
  };
  for (const auto& [group, amount] : candidate.portions) {
    request.count = amount;
    distribute({candidate.portion_level, group});
  }
  if (candidate.portions.empty()) distribute(candidate.found.fit);
  packing_.pack(*on_, into.shares, shape.nested_gpus);
  const auto gpus = packing_.gpus();
  if (shape.expert_inside || candidate.order != PackingOrder::stages) {
    into.gpu_of_rank.resize(gpus.size());
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      into.gpu_of_rank[rank_at(spec.parallelism, shape.expert_inside, i, candidate.order)] = gpus[i];
    }
  } else {
    into.gpu_of_rank.assign(gpus.begin(), gpus.end());
  }
}

std::uint32_t Placer::Impl::groups_used(std::span<const Share> shares, fabric::LevelKind kind) const {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  const unsigned level = hierarchy.level_of(kind);
  if (level == Hierarchy::kNoLevel) return 0;
  std::uint32_t used = 0;
  GroupIndex last = UINT32_MAX;
  for (const Share& share : shares) {
    const GroupIndex group = hierarchy.group_of_leaf(level, share.leaf);
    used += group != last ? 1 : 0;
    last = group;
  }
  return used;
}

Placement Placer::Impl::choose(const JobSpec& spec, const Claims& claims, const std::vector<Candidate>& list,
                               std::vector<Alternative>* alternatives) {
  const Candidate* chosen = nullptr;
  Placement placement;
  if (options_.policy == PlacementPolicy::best_fit) {
    lay_out(spec, list.front(), best_);
    placement.gpu_of_rank = std::move(best_.gpu_of_rank);
    placement.idle_gpus = claims.idle_gpus(*fabric_, placement.gpu_of_rank);
    placement.block_gpus = list.front().found.shape.fit.block;
    summarize(*fabric_, spec.parallelism, placement);
    return placement;
  }
  double least_us = 0;
  seen_.clear();
  struct Other {
    const Candidate* candidate;
    PlacementCost shared, alone;
  };
  std::vector<Other> others;
  for (const Candidate& candidate : list) {
    lay_out(spec, candidate, laid_);
    if (list.size() > 1) {
      Fnv1a words;
      for (const auto gpu : laid_.gpu_of_rank) words.add(std::uint64_t{gpu.value()});
      const std::uint64_t digest = words.value();
      if (std::ranges::find(seen_, digest) != seen_.end()) continue;
      seen_.push_back(digest);
    }
    laid_.cost = scorer_.cost(laid_.gpu_of_rank);
    laid_.lost_gpus = list.size() > 1 ? scorer_.lost_gpus(*on_, laid_.shares) : 0;
    if (list.size() > 1) {
      laid_.spans = {groups_used(laid_.shares, fabric::LevelKind::leaf_group),
                     groups_used(laid_.shares, fabric::LevelKind::pod)};
    }
    // What it would hold without need is lost to others, too.
    if (claims.any() && list.size() > 1) {
      laid_.lost_gpus += static_cast<double>(claims.idle_gpus(*fabric_, laid_.gpu_of_rank).size());
    }
    ++scored_;
    if (alternatives != nullptr) {
      others.push_back({&candidate, laid_.cost,
                        scorer_.alone(laid_.gpu_of_rank) ? laid_.cost : scorer_.cost_alone(laid_.gpu_of_rank)});
    }
    // Not transitive if compared one by one: everything within the tolerance of the least seen so far competes on
    // how far it spreads, then on what it loses, and a new least drops those that are no longer near it.
    const double us = laid_.cost.total_us;
    bool better = chosen == nullptr;
    if (!better) {
      const bool near_least = us <= least_us * (1 + kAsGood);
      const bool best_still_near = best_.cost.total_us <= std::min(us, least_us) * (1 + kAsGood);
      better = near_least &&
               (!best_still_near || std::pair(laid_.spans, laid_.lost_gpus) < std::pair(best_.spans, best_.lost_gpus));
    }
    least_us = chosen == nullptr ? us : std::min(least_us, us);
    if (!better) continue;
    chosen = &candidate;
    std::swap(best_, laid_);
  }
  const JobShape& shape = chosen->found.shape;
  if (refinement_.applies(spec, best_.gpu_of_rank, best_.cost)) {
    const Refinement::Start start{
        .spec = &spec,
        .tree = on_,
        .filter = list.front().found.shape.fit.filter.get(),
        .level = std::max(std::min(shape.max_level, fabric_->hierarchy().top(false)), chosen->found.fit.level),
        .inside = best_.shares.front().leaf};
    refinement_.improve(start, scorer_, kAsGood, best_.gpu_of_rank, best_.cost);
  }
  placement.predicted =
      scorer_.prediction(scorer_.alone(best_.gpu_of_rank) ? best_.cost : scorer_.cost_alone(best_.gpu_of_rank));
  if (alternatives != nullptr) {
    for (const auto& [candidate, shared, alone] : others) {
      if (candidate == chosen) continue;
      Alternative other =
          alternative(text_of(candidate->change, fabric_->hierarchy(), candidate->found), alone, shared);
      const auto known = std::ranges::find(*alternatives, other.change, &Alternative::change);
      if (known == alternatives->end()) {
        alternatives->push_back(std::move(other));
      } else if (other.shared_communication_us < known->shared_communication_us) {
        *known = std::move(other);
      }
    }
  }
  placement.gpu_of_rank = std::move(best_.gpu_of_rank);
  placement.idle_gpus = claims.idle_gpus(*fabric_, placement.gpu_of_rank);
  placement.block_gpus = shape.fit.block;
  summarize(*fabric_, spec.parallelism, placement);
  return placement;
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
      {"in one site instead of " + std::to_string(result.placement.groups_at_level) + ", once one has room",
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

const Placer::Impl::Filters& Placer::Impl::filters_of(const JobSpec& spec) {
  const auto known = std::ranges::find_if(filters_, [&](const Filters& entry) {
    return entry.selector == spec.node_selector && entry.only_nodes == spec.only_nodes;
  });
  if (known != filters_.end()) {
    std::rotate(filters_.begin(), known, known + 1);
    return filters_.front();
  }
  const auto& topology = fabric_->topology();
  const Hierarchy& hierarchy = fabric_->hierarchy();
  Filters made{.selector = spec.node_selector, .only_nodes = spec.only_nodes};
  if (!spec.node_selector.empty() || !spec.only_nodes.empty()) {
    std::vector<std::uint8_t> named(topology.hosts().size(), spec.only_nodes.empty() ? 1 : 0);
    for (const auto& name : spec.only_nodes) {
      if (const HostId host = topology.find_host(name)) named[host.index()] = 1;
    }
    auto filter = std::make_shared<LeafFilter>(hierarchy.leaf_count(), std::uint8_t{0});
    for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
      const auto labels = topology.labels(hierarchy.host(leaf));
      const auto carried = [&](const auto& wanted) {
        return std::ranges::any_of(labels, [&](const auto& label) {
          return topology.text(label.key) == wanted.first && topology.text(label.value) == wanted.second;
        });
      };
      const bool wanted = named[hierarchy.host(leaf).index()] != 0 && std::ranges::all_of(spec.node_selector, carried);
      (*filter)[leaf] = wanted ? 1 : 0;
    }
    made.usual = std::move(filter);
  }
  for (const auto& sound : scorer_.sound_leaves()) made.sound.push_back(both(made.usual, sound));
  if (filters_.size() == kMaxFilters) filters_.pop_back();
  filters_.insert(filters_.begin(), std::move(made));
  return filters_.front();
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
void Placer::set_left(std::shared_ptr<const std::vector<double>> bundle_mbps) {
  impl_->set_left(std::move(bundle_mbps));
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
