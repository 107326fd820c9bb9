// The rules of the queue <-> JSON values, for requests, answers and the journal.
#pragma once

#include "scheduler/queue/policy/queue_policy.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const scheduler::QueuePolicy& policy);       // without tenants and windows; for the journal
Out shown_policy(const scheduler::QueuePolicy& policy);  // with every rule, for answers
Result<scheduler::QueuePolicy> queue_policy_from_json(const Json& value);

// Reads the records of older versions too, which call minRuntime leastRun.
Result<scheduler::QueuePolicy> queue_policy_of_journal(const Json& value);

}  // namespace railweave::api
