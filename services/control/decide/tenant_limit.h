// How many GPUs a tenant may hold in all: its maxGpus.
#pragma once

#include <cstdint>
#include <optional>

#include "fabric/base/error.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// Why the tenant may not hold so many GPUs more: "tenants.gpuLimit", impossible where it may never hold as many, else
// conflict. None: it may.
std::optional<Error> over_gpu_limit(const ClusterState& state, const Tenant& tenant, std::uint64_t gpus);

}  // namespace railweave::control
