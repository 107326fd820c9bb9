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

}  // namespace railweave::control
