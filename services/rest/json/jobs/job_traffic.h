// GET /v1/jobs/{id}/traffic: which GPUs of a job send to which others.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "services/control/state/job.h"
#include "services/control/views/job_pairs.h"

namespace railweave::api {

// Of a step of a job; none: it is still being worked out.
using StepPeriodUs = std::function<std::optional<double>(control::JobId)>;
std::string write_job_traffic(const control::Job& job, const control::JobPairs& pairs, const StepPeriodUs& period_us,
                              std::uint64_t seq);

}  // namespace railweave::api
