// The body of PATCH /v1/jobs/{id}, a JSON merge patch (RFC 7396): what it names is changed, null takes it back.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "services/control/events/job_requests.h"

namespace railweave::api {

Result<control::ChangeJob> read_job_change(control::JobId job, std::string_view body);

}  // namespace railweave::api
