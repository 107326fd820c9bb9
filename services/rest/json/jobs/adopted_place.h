// Where an adopted job runs: the `adopt` of a submission.
#pragma once

#include <string>

#include "services/control/events/job_requests.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Result<control::AdoptedPlace> read_adopted_place(const Json& value, const std::string& pointer);

}  // namespace railweave::api
