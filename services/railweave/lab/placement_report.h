// A placement on the fabric of a file as a JSON document, with the field names of the service's answers.
#pragma once

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// What `lab place` prints.
Json placement_report(const scheduler::JobSpec& spec, const scheduler::PlacementResult& result,
                      const scheduler::PlacementFabric& fabric, double place_us);

}  // namespace railweave::cli
