// Layouts of a job compared: scored, refined, chosen.
#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/fnv1a.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/placer_impl.h"
#include "scheduler/placement/score/summary.h"
#include "scheduler/placement/search/preferred_blocks.h"

namespace railweave::scheduler {

using fabric::HostId;

Result<std::vector<Candidate>> Placer::Impl::candidates_of(const JobSpec& spec, unsigned model, const Claims& claims,
                                                           const NodeFilters::Filters& filters) {
  if (options_.policy == PlacementPolicy::cost) {
    scorer_.set_job(spec, generation_on(spec, model));
    std::vector<JobSearch::Filter> full_rate;
    if (claims.any()) {
      for (const auto& filter : filters.full_rate) full_rate.push_back(intersection(claims.filter(), filter));
    }
    const JobSearch::Filter& allowed = claims.any() ? claims.filter() : filters.allowed;
    const std::span<const JobSearch::Filter> of_full_rate = claims.any() ? full_rate : filters.full_rate;
    auto list = candidates(search_, {&spec, &tree_, allowed, of_full_rate});
    if (list && !list->empty()) {
      add_near_peers(spec, allowed, *list);
      add_preferred(spec, allowed, *list);
    }
    return list;
  }
  auto found = search_.find(spec, tree_, claims.filter());
  if (!found) return std::unexpected(std::move(found.error()));
  std::vector<Candidate> list;
  if (*found) list.push_back({std::move(**found)});
  return list;
}

// The same candidates within the groups of each level where its peers are, the nearest level first.
void Placer::Impl::add_near_peers(const JobSpec& spec, const JobSearch::Filter& filter, std::vector<Candidate>& list) {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  JobSearch::Filter before;
  for (unsigned level = 0; level < hierarchy.top() && !scorer_.placed_peers().empty(); ++level) {
    auto near = std::make_shared<LeafFilter>(hierarchy.leaf_count(), std::uint8_t{0});
    for (const PlacedPeer& with : scorer_.placed_peers()) {
      for (const auto gpu : with.gpu_of_rank) {
        const GroupIndex group = hierarchy.group_of_leaf(level, fabric_->leaf(gpu));
        if ((*near)[hierarchy.first_leaf(level, group)] != 0) continue;
        for (auto leaf = hierarchy.first_leaf(level, group); leaf < hierarchy.first_leaf(level, group + 1); ++leaf) {
          (*near)[leaf] = 1;
        }
      }
    }
    if (before && *before == *near) continue;
    before = near;
    auto found = candidates(search_, {&spec, &tree_, intersection(filter, before), {}});
    if (!found) return;
    for (Candidate& candidate : *found) {
      if (candidate.change == Candidate::Change::none) candidate.change = Candidate::Change::near_peers;
      list.push_back(std::move(candidate));
    }
  }
}

void Placer::Impl::set_preferences(const JobSpec& spec) {
  if (preferences_.any() || !spec.prefer_nodes.empty()) preferences_ = NodePreferences(*fabric_, spec);
}

// The same candidates on the nodes that are preferred most, and on those that are nearly so.
void Placer::Impl::add_preferred(const JobSpec& spec, const JobSearch::Filter& filter, std::vector<Candidate>& list) {
  for (const JobSearch::Filter& tier : preferences_.tiers()) {
    auto found = candidates(search_, {&spec, &tree_, intersection(filter, tier), {}});
    if (!found) return;
    for (Candidate& candidate : *found) {
      if (candidate.change == Candidate::Change::none) candidate.change = Candidate::Change::preferred_nodes;
      list.push_back(std::move(candidate));
    }
  }
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
  layout.unmet = preferences_.unmet(layout.gpu_of_rank);
  layout.lost_gpus = 0;
  if (compared) {
    layout.lost_gpus = scorer_.lost_gpus(*on_, layout.shares);
    // GPUs that the job would hold idle are lost to other jobs, too.
    if (claims.any()) layout.lost_gpus += static_cast<double>(claims.idle_gpus(*fabric_, layout.gpu_of_rank).size());
  }
  ++scored_;
}

PlacementCost Placer::Impl::cost_alone(const Layout& layout) {
  return scorer_.alone(layout.gpu_of_rank) ? layout.cost : scorer_.cost_alone(layout.gpu_of_rank);
}

// The GPUs of the best with the stages of a replica side by side, or the replicas of a stage, whichever it is not.
void Placer::Impl::reorder(const JobSpec& spec, const Claims& claims, const Candidate& chosen) {
  constexpr std::uint64_t kMaxScoredRanks = 256;  // of larger jobs a score costs as much as all else
  if (rank_count(spec.parallelism) > kMaxScoredRanks) return;
  Candidate other = chosen;
  if (!other_order(spec, other)) return;
  layouts_.lay_out(spec.parallelism, other, search_.best_fit(), *on_, trial_);
  if (!is_new_layout(trial_.gpu_of_rank)) return;
  score(claims, true, trial_);
  choice_.offer(trial_);
}

std::optional<Refinement::Start> Placer::Impl::refinement_of(const JobSpec& spec, const Candidate& chosen,
                                                             const LeafFilter* filter, bool promised) {
  const Layout& best = choice_.best();
  if (!Refinement::is_small(spec, chosen.found.shape.fit.block, best.gpu_of_rank)) return std::nullopt;
  if (!promised && !(best.unmet > 0) && !refinement_.promises(*on_, best.gpu_of_rank, best.cost)) return std::nullopt;
  return exchange_of(spec, chosen, filter);
}

// What blocks of the best may be exchanged with; nothing where the request has a rule that exchanges could break.
std::optional<Refinement::Start> Placer::Impl::exchange_of(const JobSpec& spec, const Candidate& chosen,
                                                           const LeafFilter* filter) {
  const Layout& best = choice_.best();
  const std::uint32_t block = chosen.found.shape.fit.block;
  // Ranks of a block follow each other unless expert groups are inside context groups.
  if (chosen.found.shape.expert_inside && spec.parallelism.context > 1) return std::nullopt;
  if (!Refinement::may_exchange(spec, block)) return std::nullopt;
  const unsigned farthest = std::min(chosen.found.shape.max_level, fabric_->hierarchy().top(false));
  return Refinement::Start{.spec = &spec,
                           .tree = on_,
                           .filter = filter,
                           .level = std::max(farthest, chosen.found.fit.level),
                           .inside = fabric_->leaf(best.gpu_of_rank.front()),
                           .block = block,
                           .preferences = preferences_.any() ? &preferences_ : nullptr};
}

void Placer::Impl::refine(const JobSpec& spec, const Candidate& chosen, const LeafFilter* filter) {
  Layout& best = choice_.best();
  const auto start = refinement_of(spec, chosen, filter, false);
  if (!start) return seat_on_preferred(spec, chosen, filter);
  if (!preferences_.any()) {
    refinement_.improve(*start, scorer_, LayoutChoice::kAsGood, best.gpu_of_rank, best.cost);
    return;
  }
  PlacementCost cost = best.cost;
  cost.total_us = best.us();
  scorer_.set_preferences(&preferences_);
  if (refinement_.improve(*start, scorer_, LayoutChoice::kAsGood, best.gpu_of_rank, cost)) {
    best.cost = scorer_.cost(best.gpu_of_rank);
    best.unmet = preferences_.unmet(best.gpu_of_rank);
  }
  scorer_.set_preferences(nullptr);
}

// Jobs that are too large to be refined: single blocks to nodes that they prefer.
void Placer::Impl::seat_on_preferred(const JobSpec& spec, const Candidate& chosen, const LeafFilter* filter) {
  Layout& best = choice_.best();
  if (!(best.unmet > 0)) return;
  const auto start = exchange_of(spec, chosen, filter);
  if (!start) return;
  scorer_.set_preferences(&preferences_);
  if (PreferredBlocks(*fabric_, *start, scorer_).improve(best.us(), best.gpu_of_rank)) {
    best.cost = scorer_.cost(best.gpu_of_rank);
    best.unmet = preferences_.unmet(best.gpu_of_rank);
  }
  scorer_.set_preferences(nullptr);
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
  finalists_.clear();
  routed_.reset();
  const bool on_routes = keeps_finalists(spec);
  for (const Candidate& candidate : list) {
    layouts_.lay_out(spec.parallelism, candidate, search_.best_fit(), *on_, trial_);
    if (compared && !is_new_layout(trial_.gpu_of_rank)) continue;
    score(claims, compared, trial_);
    if (alternatives != nullptr) scored.push_back({&candidate, trial_.cost, cost_alone(trial_), trial_.gpu_of_rank});
    if (on_routes) finalists_.push_back({&candidate, trial_.cost, trial_.gpu_of_rank});
    if (choice_.offer(trial_)) chosen = &candidate;
  }
  // 2. The best once more in the other order of its pieces, then small jobs block by block.
  const LeafFilter* filter = list.front().found.shape.fit.filter.get();
  if (list.size() > 1) reorder(spec, claims, *chosen);
  refine(spec, *chosen, filter);
  if (on_routes) choose_on_routes(spec, filter, chosen);
  const JobShape& shape = chosen->found.shape;
  // 3. Predictions and the answer.
  const Prediction beside = scorer_.prediction(choice_.best().cost);
  const bool counted = std::ranges::all_of(scorer_.placed_peers(), [](const auto& with) { return with.peer.counted; });
  const Prediction predicted = counted ? scorer_.prediction(cost_alone(choice_.best()))
                                       : scorer_.predicted_with_counted(choice_.best().gpu_of_rank);
  if (alternatives != nullptr) add_scored(scored, chosen, *alternatives);
  Placement placement = placement_of_best(spec, claims, shape);
  placement.predicted = predicted;
  placement.beside = beside;
  return placement;
}

// Of candidates with the same text the fastest.
void Placer::Impl::add_scored(std::span<const ScoredCandidate> scored, const Candidate* chosen,
                              std::vector<Alternative>& alternatives) const {
  for (const auto& [candidate, shared, alone, gpu_of_rank] : scored) {
    if (candidate == chosen) continue;
    Alternative other = alternative(text_of(*candidate, fabric_->hierarchy()), alone, shared);
    other.gpu_of_rank = gpu_of_rank;
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
  return {std::move(change), of_alone.step_us,           of_alone.communication_us,
          of_shared.step_us, of_shared.communication_us, {}};
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
    result.alternatives.push_back(
        alternative(fmt::format("allow {} for {} instead of {}", fabric::to_string(hierarchy.kind(to)), name,
                                fabric::to_string(*required)),
                    scorer_.cost_alone(other.gpu_of_rank), scorer_.cost(other.gpu_of_rank)));
    result.alternatives.back().gpu_of_rank = other.gpu_of_rank;
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
  Placement placement = choose(near, claims, *list, nullptr);
  on_ = &tree_;
  const Prediction& other = *placement.predicted;
  result.alternatives.push_back(
      {fmt::format("in one site instead of {}, once one has enough free GPUs", result.placement.groups_at_level),
       other.step_us, other.communication_us, other.step_us, other.communication_us, std::move(placement.gpu_of_rank),
       true});
}

}  // namespace railweave::scheduler
