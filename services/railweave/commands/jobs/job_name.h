// Jobs are named by their ids or, where only one has it, by their names, or by what another scheduler calls them.
#pragma once

#include <string>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

inline constexpr const char* kJobMeaning = "Its id, its name where one job has it, or SCHEDULER/ID: slurm/48213";

// The id of a job: names of jobs that wait or run come before those of jobs that have ended. Throws CommandFailure where
// there is no such job, or more than one.
std::string job_id_of(Session& session, const std::string& name);

}  // namespace railweave::cli
