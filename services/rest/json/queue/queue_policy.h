// The queue's policy as JSON: GET and PUT /v1/queue/policy.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "scheduler/queue/policy/queue_policy.h"

namespace railweave::api {

// Fields that the body leaves out have their default. Refuses what check_queue_policy() refuses.
Result<scheduler::QueuePolicy> read_queue_policy(std::string_view body);
std::string write_queue_policy(const scheduler::QueuePolicy& policy, std::uint64_t version);

}  // namespace railweave::api
