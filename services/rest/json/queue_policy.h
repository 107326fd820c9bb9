// The queue's rules as JSON: as the contract has them and as the journal keeps them.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "scheduler/queue/policy/queue_policy.h"

namespace railweave::api {

// What the body leaves out is as by default. Checked by check_queue_policy().
Result<scheduler::QueuePolicy> read_queue_policy(std::string_view body);
std::string write_queue_policy(const scheduler::QueuePolicy& policy, std::uint64_t version);

}  // namespace railweave::api
