// Finds where a job fits, honouring its preferences as far as they go: first whether it fits at all, then each
// preference in order of importance as near as possible without giving up a more important one. One per thread.
#pragma once

#include <memory>
#include <optional>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/best_fit.h"
#include "scheduler/placement/job_shape.h"
#include "scheduler/placement/placement_tree.h"

namespace railweave::scheduler {

struct Found {
  JobShape shape;
  Fit fit;
};

class JobSearch {
 public:
  using Filter = std::shared_ptr<const LeafFilter>;

  explicit JobSearch(HierarchyPtr hierarchy) : hierarchy_(std::move(hierarchy)), best_fit_(*hierarchy_) {}

  // None: does not fit. Errors: see wishes_of() and shape_of(). Stages that nobody asked to keep together are aligned
  // with the groups of a level where that moves nothing farther; `unaligned`, where given, is then what it was before.
  Result<std::optional<Found>> find(const JobSpec& spec, PlacementTree& tree, const Filter& filter,
                                    std::optional<Found>* unaligned = nullptr);
  // The same for pieces of any size that make up the job, `piece_gpus` each: false, and nothing changed, where no level
  // can take them all.
  bool align(std::uint64_t piece_gpus, PlacementTree& tree, Found& found);
  // Only whether it fits; an error is a no.
  [[nodiscard]] bool fits(const JobSpec& spec, PlacementTree& tree, const Filter& filter);

  [[nodiscard]] BestFit& best_fit() { return best_fit_; }

 private:
  Result<std::optional<Found>> find_at(const JobSpec& spec, const Nearness& nearness, PlacementTree& tree,
                                       const Filter& filter);

  HierarchyPtr hierarchy_;
  BestFit best_fit_;
};

}  // namespace railweave::scheduler
