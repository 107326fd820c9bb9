// Why a job does not fit; what would help is said by counterfactuals.h. Only asked on refusal, so it may look at every
// host.
#pragma once

#include <string>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/search/job_search.h"

namespace railweave::scheduler {

struct Refusal {
  const JobSpec* spec;
  JobSearch::Filter filter;
  std::vector<fabric::HostId> excluded;  // by the job; unavailable in both trees while this is explained
  PlacementTree* now;
  PlacementTree* empty;  // the same fabric with no job and no drain
};

// For a job whose required levels and sizes do not fit `now`. Both trees are as they were when it returns.
PlacementResult explain(const PlacementFabric& fabric, JobSearch& search, const Refusal& refusal);

}  // namespace railweave::scheduler
