// The body of POST /v1/jobs and POST /v1/placements/query.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "scheduler/job/job_spec.h"

namespace railweave::api {

// Readable, with known fields only; whether the values make sense is check_job_spec()'s to say, and is asked here too.
Result<scheduler::JobSpec> read_job_spec(std::string_view body);

// ... with what only a submission looks at: whether it waits for its turn, and until when it does not want to start.
struct JobRequest {
  scheduler::JobSpec spec;
  bool queue = false;
  std::int64_t not_before_us = 0;
};
Result<JobRequest> read_job_request(std::string_view body);

// The same as it would have to be sent.
std::string write_job_spec(const scheduler::JobSpec& spec);

}  // namespace railweave::api
