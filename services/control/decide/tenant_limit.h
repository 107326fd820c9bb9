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

// The error ("jobs.priorityTooHigh", impossible) if the tenant's jobs may not have that class: Tenant::max_priority.
std::optional<Error> over_priority(const QueueRules& rules, const Tenant& tenant, const std::string& name);

// The error ("jobs.minRuntimeTooLong", impossible) if a member asks to be kept from eviction for longer than the queue's
// policy does: that is for operators.
std::optional<Error> over_min_runtime(const QueueRules& rules, const scheduler::JobSpec& spec, bool by_member);

// The most GPUs that the tenant's quota can ever hold, with all that its cohort could lend it; none: it has no quota.
std::optional<std::uint64_t> most_in_quota(const ClusterState& state, const Tenant& tenant);

// The error ("tenants.quotaTooSmall", impossible) if the tenant's quota, with all that its cohort could lend it, can
// never hold `gpus`. None: it can, or the tenant has no quota.
std::optional<Error> never_in_quota(const ClusterState& state, const Tenant& tenant, std::uint64_t gpus);

}  // namespace railweave::control
