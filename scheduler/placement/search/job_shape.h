// What a job asks for, compiled for one choice of levels (LevelChoices) to the shape that placement counts and cuts:
// nested pieces that must stay together.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/fit_index.h"
#include "scheduler/placement/fit/hierarchy.h"
#include "scheduler/placement/search/level_choices.h"

namespace railweave::scheduler {

struct JobShape {
  FitShape fit;
  std::vector<Rung> rungs;
  std::uint64_t count = 1;  // pieces of the last rung
  unsigned min_level = 0;   // of the whole job: higher where stages must be spread
  unsigned max_level = 0;
  bool expert_inside = false;  // expert groups are nested inside context groups; otherwise the other way round
  std::vector<std::uint64_t> nested_gpus;  // sizes of pieces to keep near each other, rising; the last is the job

  // Units of the FitIndex that the whole job takes: blocks, before rungs.
  [[nodiscard]] std::uint64_t units() const;
};

// Errors of kind impossible, code "jobs.neverFits", where levels, slices, spread and gpus_per_node contradict each
// other on this fabric.
Result<JobShape> shape_of(const JobSpec& spec, const Hierarchy& hierarchy, const Nearness& nearness,
                          std::shared_ptr<const LeafFilter> filter);

}  // namespace railweave::scheduler
