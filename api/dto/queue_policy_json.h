// Private to api/dto.
#pragma once

#include "api/dto/json_out.h"
#include "api/dto/strict_json.h"
#include "scheduler/queue/queue_policy.h"

namespace railweave::api {

Out to_json(const scheduler::QueuePolicy& policy);  // without tenants and windows
Result<scheduler::QueuePolicy> queue_policy_from_json(const Json& value);

}  // namespace railweave::api
