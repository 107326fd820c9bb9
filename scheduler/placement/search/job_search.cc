#include "scheduler/placement/search/job_search.h"

#include <algorithm>
#include <utility>

#include "scheduler/placement/search/claims.h"

namespace railweave::scheduler {

Result<std::optional<Found>> JobSearch::find_at(const JobSpec& spec, const Nearness& nearness, PlacementTree& tree,
                                                const Filter& filter) {
  auto shape = shape_of(spec, *hierarchy_, nearness, filter);
  if (!shape) return std::unexpected(std::move(shape.error()));
  const FitRequest request{.rungs = shape->rungs, .count = shape->count, .max_level = shape->max_level};
  const auto fit = best_fit_.find(tree.fit_index(shape->fit), request, shape->min_level);
  if (!fit) return std::nullopt;
  return Found{std::move(*shape), *fit};
}

Result<std::optional<Found>> JobSearch::find(const JobSpec& spec, PlacementTree& tree,  // NOLINT(misc-no-recursion)
                                             const Filter& filter, std::optional<Found>* unaligned) {
  if (spec.across_sites && hierarchy_->joins_sites()) {
    // Spanning sites is the last resort: no preference justifies it.
    JobSpec near = spec;
    near.across_sites = false;
    if (auto in_one = find(near, tree, filter, unaligned); in_one && *in_one) return in_one;
    if (unaligned != nullptr) unaligned->reset();
  }
  const auto choices = level_choices_of(spec, *hierarchy_);
  if (!choices) return std::unexpected(choices.error());
  // Farther is never harder, so settling one group after the other, the most important first, finds the best choice.
  Nearness nearness = choices->required();
  auto best = find_at(spec, nearness, tree, filter);
  if (!best || !*best) return best;
  for (const JobGroup group : choices->order) {
    const auto& chain = choices->chain[index_of(group)];
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      Nearness nearer = nearness;
      nearer[index_of(group)] = chain[i];
      auto found = find_at(spec, nearer, tree, filter);
      if (!found || !*found) continue;
      nearness = nearer;
      best = std::move(found);
      break;
    }
  }
  const std::uint64_t stage = rank_count(spec.parallelism) / spec.parallelism.pipeline;
  const bool stages_asked = spec.stage.required || spec.stage.preferred || spec.spread_stages || spec.spread;
  const bool slices_larger = !spec.slices.empty() && spec.slices.back().gpus > stage;
  if (spec.parallelism.pipeline > 1 && !stages_asked && !slices_larger) {
    Found before = **best;
    if (align(stage, tree, **best) && unaligned != nullptr) *unaligned = std::move(before);
  }
  return best;
}

// In groups of the lowest level that can take them all, without moving the job to a farther level for it.
bool JobSearch::align(std::uint64_t piece_gpus, PlacementTree& tree, Found& found) {
  for (unsigned level = 0; level < found.fit.level; ++level) {
    if (hierarchy_->max_capacity(level) < piece_gpus) continue;
    JobShape shape = found.shape;
    shape.fit.straddle_top = std::min(shape.fit.straddle_top, level);
    // What is inside a piece is then as near as the piece.
    while (!shape.rungs.empty() && shape.rungs.back().level >= level) shape.rungs.pop_back();
    std::uint64_t part = std::max(shape.fit.block, shape.fit.per_node);
    for (const auto& rung : shape.rungs) part *= rung.factor;
    if (piece_gpus % part != 0 || (piece_gpus == part && shape.fit == found.shape.fit)) continue;
    if (piece_gpus > part) shape.rungs.push_back({level, piece_gpus / part});
    shape.count = shape.nested_gpus.back() / piece_gpus;
    const FitRequest request{.rungs = shape.rungs, .count = shape.count, .max_level = found.fit.level};
    if (const auto fit = best_fit_.find(tree.fit_index(shape.fit), request, found.fit.level)) {
      found = {std::move(shape), *fit};
      return true;
    }
  }
  return false;
}

bool JobSearch::fits(const JobSpec& spec, PlacementTree& tree, const Filter& filter) {
  const auto choices = level_choices_of(spec, *hierarchy_);
  if (!choices) return false;
  const Claims claims(*this, tree, spec, filter);
  const auto found = find_at(spec, choices->required(), tree, claims.filter());
  return found && *found;
}

JobSearch::Filter JobSearch::shared_filter(LeafFilter filter) {
  const auto known = std::ranges::find_if(filters_, [&](const Filter& kept) { return *kept == filter; });
  if (known != filters_.end()) {
    std::rotate(filters_.begin(), known, known + 1);
    return filters_.front();
  }
  if (filters_.size() == kFiltersKept) filters_.pop_back();
  filters_.insert(filters_.begin(), std::make_shared<const LeafFilter>(std::move(filter)));
  return filters_.front();
}

}  // namespace railweave::scheduler
