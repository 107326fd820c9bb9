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

}  // namespace railweave::control
