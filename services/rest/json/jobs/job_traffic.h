// GET /v1/jobs/{id}/traffic: which GPUs of a job send to which others.
#pragma once

#include <optional>
#include <string>

#include "services/control/state/job.h"
#include "services/control/views/job_pairs.h"

namespace railweave::api {

// period_us: of a step; none: it is still being worked out.
std::string write_job_traffic(const control::Job& job, const control::JobPairs& pairs, std::optional<double> period_us,
                              std::uint64_t seq);

}  // namespace railweave::api
