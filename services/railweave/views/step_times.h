// Step times that jobs report, and what steps of control have gained by them, for people.
#pragma once

#include <string>

#include "services/railweave/terminal/output.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

// Of GET /v1/jobs/{id}/steps: rows of the job's sheet; none where it has reported no steps.
void add_steps(Sheet& sheet, const Json& steps);

// Of an item of GET /v1/gains: "place (slurm: all): steps take 12.3% less time (95%: 4.0% to 19.8%), measured: 4 jobs with it, 3
// without"
std::string gain_text(const Json& gain);

}  // namespace railweave::cli
