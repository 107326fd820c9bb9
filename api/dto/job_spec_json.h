// JobSpec <-> JSON values, for requests, answers and the journal alike. Private to api/dto.
#pragma once

#include "api/dto/json_out.h"
#include "api/dto/strict_json.h"
#include "scheduler/job/job_spec.h"

namespace railweave::api {

Result<scheduler::JobSpec> job_spec_from_json(const Json& value, const std::string& pointer);
Out to_json(const scheduler::JobSpec& spec);

}  // namespace railweave::api
