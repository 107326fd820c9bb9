// Finds where a job fits and meets its preferences as far as possible: first whether it fits at all, then each
// preference, in order of importance, as near as possible without giving up a more important one. One per thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/placement_tree.h"
#include "scheduler/placement/search/job_shape.h"

namespace railweave::scheduler {

struct Found {
  JobShape shape;
  Fit fit;
};

class JobSearch {
 public:
  using Filter = std::shared_ptr<const LeafFilter>;

  explicit JobSearch(HierarchyPtr hierarchy) : hierarchy_(std::move(hierarchy)), best_fit_(*hierarchy_) {}

  // In the tree as it is behind the filter as it is: what the job holds beside its ranks is for Claims (claims.h) to
  // keep free.
  // None: does not fit. Errors: see level_choices_of() and shape_of(). Stages without a level request are aligned with
  // the groups of a level where that moves nothing farther; `unaligned`, where given, is then what it was before.
  Result<std::optional<Found>> find(const JobSpec& spec, PlacementTree& tree, const Filter& filter,
                                    std::optional<Found>* unaligned = nullptr);
  // The same for pieces of any size that make up the job, `piece_gpus` each: false, and nothing changed, where no level
  // can take them all.
  bool align(std::uint64_t piece_gpus, PlacementTree& tree, Found& found);
  // Only whether it fits, with what it holds beside its ranks; an error is a no.
  [[nodiscard]] bool fits(const JobSpec& spec, PlacementTree& tree, const Filter& filter);

  // The same object for the same filter, as long as it is among the last few: indices made for it are found again.
  [[nodiscard]] Filter shared_filter(LeafFilter filter);

  [[nodiscard]] BestFit& best_fit() { return best_fit_; }

 private:
  Result<std::optional<Found>> find_at(const JobSpec& spec, const Nearness& nearness, PlacementTree& tree,
                                       const Filter& filter);

  static constexpr std::size_t kFiltersKept = 4;

  HierarchyPtr hierarchy_;
  BestFit best_fit_;
  std::vector<Filter> filters_;  // the last used first
};

}  // namespace railweave::scheduler
