// A job, for people. The fields are those of GET /v1/jobs/{id}.
#pragma once

#include "services/railweave/terminal/output.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

void print_job(Output& output, const Json& job);
Cell job_state_cell(const Json& job);
std::string origin_text(const Json& external);  // "slurm 48213_7, step order"; "": it was submitted here

}  // namespace railweave::cli
