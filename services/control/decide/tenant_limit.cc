#include "services/control/decide/tenant_limit.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"

namespace railweave::control {
namespace {

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

// A class that the rules do not name has value 0.
std::int32_t value_of(const QueueRules& rules, const std::string& name) {
  const auto* known = scheduler::find_class(rules.policy, name);
  return known == nullptr ? 0 : known->value;
}

}  // namespace

std::optional<Error> over_gpu_limit(const ClusterState& state, const Tenant& tenant, std::uint64_t gpus) {
  if (!tenant.max_gpus) return std::nullopt;
  const std::uint64_t limit = *tenant.max_gpus;
  const bool never = gpus > limit;
  const auto held = state.gpus_held->find(tenant.name);
  const std::uint64_t held_gpus = held == state.gpus_held->end() ? 0 : held->second;
  if (held_gpus + gpus <= limit) return std::nullopt;
  return Error{
      never ? ErrorKind::impossible : ErrorKind::conflict,
      "tenants.gpuLimit",
      fmt::format("tenant {} may hold {} GPUs, holds {}, and the job needs {}", tenant.name, limit, held_gpus, gpus),
      {},
      never ? "PUT /v1/tenants/" + tenant.name + " with a larger maxGpus, or ask for fewer"
            : std::string("wait for the tenant's jobs to end")};
}

Error unknown_tenant(const std::string& name) {
  if (name.empty())
    return {ErrorKind::invalid, "tenants.unknown", "the job names no tenant", "/tenant", "name its owner"};
  return {ErrorKind::invalid, "tenants.unknown", "there is no tenant '" + name + "'", "/tenant",
          "create it first: PUT /v1/tenants/" + name};
}

std::optional<Error> unknown_priority(const QueueRules& rules, const std::string& name) {
  if (name == "normal" || scheduler::find_class(rules.policy, name) != nullptr) return std::nullopt;
  std::string known;
  for (const auto& one : rules.policy.classes) known += (known.empty() ? "" : ", ") + one.name;
  return Error{ErrorKind::invalid, "jobs.unknownPriority", "there is no priority class '" + name + "'", "/priority",
               known.empty() ? "the queue's policy names no classes" : "the classes are " + known};
}

std::optional<Error> over_priority(const QueueRules& rules, const Tenant& tenant, const std::string& name) {
  if (value_of(rules, name) <= value_of(rules, tenant.max_priority)) return std::nullopt;
  return Error{ErrorKind::impossible, "jobs.priorityTooHigh",
               "jobs of tenant " + tenant.name + " may have priority " + tenant.max_priority + " at most, not " + name,
               "/priority", "an administrator may raise the tenant's maxPriority: PUT /v1/tenants/" + tenant.name};
}

std::optional<Error> over_min_runtime(const QueueRules& rules, const scheduler::JobSpec& spec, bool by_member) {
  if (!by_member || !spec.min_runtime_s) return std::nullopt;
  const std::int64_t most_s = rules.policy.least_run_us / 1'000'000;
  if (*spec.min_runtime_s <= most_s) return std::nullopt;
  return Error{
      ErrorKind::impossible, "jobs.minRuntimeTooLong",
      "members keep a job from eviction for at most " + duration_text(most_s) + ", as the queue's policy has it",
      "/minRuntime", "ask an operator for more"};
}

std::optional<std::uint64_t> most_in_quota(const ClusterState& state, const Tenant& tenant) {
  if (!tenant.quota_gpus) return std::nullopt;
  if (tenant.cohort.empty()) return tenant.quota_gpus;
  std::uint64_t lent = 0;
  for (const auto& [name, other] : *state.tenants) {
    if (name == tenant.name || other.cohort != tenant.cohort) continue;
    lent = saturating_sum(lent, other.quota_gpus.value_or(0));
  }
  return saturating_sum(*tenant.quota_gpus, std::min(lent, tenant.borrow_gpus.value_or(UINT64_MAX)));
}

std::optional<Error> never_in_quota(const ClusterState& state, const Tenant& tenant, std::uint64_t gpus) {
  const auto most = most_in_quota(state, tenant);
  if (!most || gpus <= *most) return std::nullopt;
  return Error{ErrorKind::impossible,
               "tenants.quotaTooSmall",
               fmt::format("the job needs {} GPUs, and tenant {} can never hold more than {}: its quota is {}{}", gpus,
                           tenant.name, *most, *tenant.quota_gpus,
                           tenant.cohort.empty() ? "" : ", the rest would be borrowed from cohort " + tenant.cohort),
               {},
               "raise the tenant's quotaGpus or ask for fewer"};
}

}  // namespace railweave::control
