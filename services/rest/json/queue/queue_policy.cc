#include "services/rest/json/queue/queue_policy.h"

#include "services/control/codec/queue_policy_json.h"
#include "services/json/contract_object.h"

namespace railweave::api {

using scheduler::QueuePolicy;

Result<QueuePolicy> read_queue_policy(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  auto policy = queue_policy_from_json(*value);
  if (!policy) return policy;
  if (auto checked = scheduler::check_queue_policy(*policy); !checked) return std::unexpected(checked.error());
  return policy;
}

std::string write_queue_policy(const QueuePolicy& policy, std::uint64_t version) {
  return dump(
      object<"QueuePolicyAnswer">(whole_part<"QueueRuleFields">(shown_policy(policy)), with<"version">(version)));
}

}  // namespace railweave::api
