// JobSpec <-> JSON values, for requests, answers and the journal alike.
#pragma once

#include "scheduler/job/job_spec.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const scheduler::Parallelism& parallelism);
Result<scheduler::JobSpec> job_spec_from_json(const Json& value, const std::string& pointer);
Out to_json(const scheduler::JobSpec& spec);

}  // namespace railweave::api
