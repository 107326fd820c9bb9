// The body of POST /v1/jobs and POST /v1/placements/query.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement.h"
#include "services/control/events/job_requests.h"
#include "services/control/state/launch.h"
#include "services/json/strict_json.h"

namespace railweave::api {

// Refuses unknown fields, and what check_job_spec() and check_model() refuse.
Result<scheduler::JobSpec> read_job_spec(std::string_view body);

// With the fields of a submission: whether the job may wait in the queue, and its earliest start.
struct JobRequest {
  scheduler::JobSpec spec;
  bool queue = false;
  std::int64_t not_before_us = 0;
  std::optional<control::AdoptedPlace> adopt = std::nullopt;    // it runs there already
  std::optional<control::LaunchTerms> launch = std::nullopt;    // its launcher acknowledges each step
  std::shared_ptr<const scheduler::Placement> place = nullptr;  // in the plan of its gang; never read
};
Result<JobRequest> read_job_request(std::string_view body);
Result<JobRequest> job_request_from_json(Json value);

// Refuses a promise of what a job sends to other roles: it sends to none.
Result<void> check_sends_to_no_role(const scheduler::JobSpec& spec);

// Refuses what a what-if does not take.
Result<void> check_what_if(const JobRequest& request);

// The spec as the body of a request.
std::string write_job_spec(const scheduler::JobSpec& spec);

}  // namespace railweave::api
