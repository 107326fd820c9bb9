// Spreading a job over groups, expressed for BestFit as rungs with a maximum per group.
#pragma once

#include "fabric/base/error.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/search/job_shape.h"

namespace railweave::scheduler {

// Each pipeline stage in a group of the level of its own. Errors: impossible, "jobs.neverFits", where stages must also
// be near each other or be cut otherwise.
Result<void> spread_stages(const JobSpec& spec, unsigned level, JobShape& shape);

// At most spec.spread->max_gpus_per_group GPUs in one group of the level. Errors: the same, where not even one piece
// that must stay whole may go into a group.
Result<void> limit_groups(const JobSpec& spec, unsigned level, JobShape& shape);

}  // namespace railweave::scheduler
