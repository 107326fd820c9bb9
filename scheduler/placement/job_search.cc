#include "scheduler/placement/job_search.h"

#include <algorithm>
#include <utility>

namespace railweave::scheduler {

Result<std::optional<Found>> JobSearch::find_at(const JobSpec& spec, const Nearness& nearness, PlacementTree& tree,
                                                const Filter& filter) {
  auto shape = shape_of(spec, *hierarchy_, nearness, filter);
  if (!shape) return std::unexpected(std::move(shape.error()));
  const FitRequest request{.rungs = shape->rungs, .count = shape->count, .max_level = shape->max_level};
  const auto fit = best_fit_.find(tree.fit_index(shape->fit), request);
  if (!fit) return std::nullopt;
  return Found{std::move(*shape), *fit};
}

Result<std::optional<Found>> JobSearch::find(const JobSpec& spec, PlacementTree& tree, const Filter& filter) {
  const auto wishes = wishes_of(spec, *hierarchy_);
  if (!wishes) return std::unexpected(wishes.error());
  // Farther is never harder, so settling one group after the other, the most important first, finds the best choice.
  Nearness nearness = wishes->required();
  auto best = find_at(spec, nearness, tree, filter);
  if (!best || !*best) return best;
  for (const JobGroup group : wishes->order) {
    const auto& chain = wishes->chain[static_cast<std::size_t>(group)];
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      Nearness nearer = nearness;
      nearer[static_cast<std::size_t>(group)] = chain[i];
      auto found = find_at(spec, nearer, tree, filter);
      if (!found || !*found) continue;
      nearness = nearer;
      best = std::move(found);
      break;
    }
  }
  const bool stages_asked = spec.stage.required || spec.stage.preferred;
  if (spec.parallelism.pipeline > 1 && !stages_asked) align_stages(spec, tree, **best);
  return best;
}

// Stages that nobody asked to keep together are kept in groups of the lowest level that can take them all, without
// moving the job to a farther level for it.
void JobSearch::align_stages(const JobSpec& spec, PlacementTree& tree, Found& found) {
  const std::uint64_t stage = found.shape.nested_gpus.back() / spec.parallelism.pipeline;
  for (unsigned level = 0; level < found.fit.level; ++level) {
    if (hierarchy_->max_capacity(level) < stage) continue;
    JobShape shape = found.shape;
    shape.fit.straddle_top = std::min(shape.fit.straddle_top, level);
    // What is inside a stage is then as near as the stage.
    while (!shape.rungs.empty() && shape.rungs.back().level >= level) shape.rungs.pop_back();
    std::uint64_t piece = std::max(shape.fit.block, shape.fit.per_node);
    for (const auto& rung : shape.rungs) piece *= rung.factor;
    if (stage % piece != 0 || (stage == piece && shape.fit == found.shape.fit)) continue;
    if (stage > piece) shape.rungs.push_back({level, stage / piece});
    shape.count = spec.parallelism.pipeline;
    const FitRequest request{.rungs = shape.rungs, .count = shape.count, .max_level = found.fit.level};
    if (const auto fit = best_fit_.find(tree.fit_index(shape.fit), request, found.fit.level)) {
      found = {std::move(shape), *fit};
      return;
    }
  }
}

bool JobSearch::fits(const JobSpec& spec, PlacementTree& tree, const Filter& filter) {
  const auto wishes = wishes_of(spec, *hierarchy_);
  if (!wishes) return false;
  const auto found = find_at(spec, wishes->required(), tree, filter);
  return found && *found;
}

}  // namespace railweave::scheduler
