#include "services/control/decide/tenant_limit.h"

#include <string>

namespace railweave::control {

std::optional<Error> over_gpu_limit(const ClusterState& state, const Tenant& tenant, std::uint64_t gpus) {
  if (!tenant.max_gpus) return std::nullopt;
  const std::uint64_t limit = *tenant.max_gpus;
  const bool never = gpus > limit;
  const auto held = state.gpus_held->find(tenant.name);
  const std::uint64_t held_gpus = held == state.gpus_held->end() ? 0 : held->second;
  if (held_gpus + gpus <= limit) return std::nullopt;
  return Error{never ? ErrorKind::impossible : ErrorKind::conflict,
               "tenants.gpuLimit",
               "tenant " + tenant.name + " may hold " + std::to_string(limit) + " GPUs, holds " +
                   std::to_string(held_gpus) + ", and the job needs " + std::to_string(gpus),
               {},
               never ? "raise the tenant's maxGpus or ask for fewer" : "wait for the tenant's jobs to end"};
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

}  // namespace railweave::control
