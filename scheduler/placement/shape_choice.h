// The placement of a job that may run in one of several shapes, without a queue: each shape is placed, the best is taken.
#pragma once

#include "scheduler/placement/placer.h"

namespace railweave::scheduler {

// As Placer::place(); with an answer for each shape where the job has several. The job's parallelism becomes the shape that
// is taken; of a refusal, the smallest.
PlacementResult place_in_best_shape(Placer& placer, JobSpec& spec);

}  // namespace railweave::scheduler
