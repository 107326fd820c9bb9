// The limit of GPUs that a tenant may hold: maxGpus. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "fabric/base/error.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// The error if `gpus` more exceed the tenant's limit: "tenants.gpuLimit", impossible if the limit is below `gpus`
// alone, else conflict. None: within the limit.
std::optional<Error> over_gpu_limit(const ClusterState& state, const Tenant& tenant, std::uint64_t gpus);

// The error for a job of a tenant that there is not; of a priority class that the rules do not name. "normal" is always
// known: jobs that say nothing have it.
Error unknown_tenant(const std::string& name);
std::optional<Error> unknown_priority(const QueueRules& rules, const std::string& name);

}  // namespace railweave::control
