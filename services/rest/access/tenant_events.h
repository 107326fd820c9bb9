// The events that a member of a tenant is shown: those of its tenant's jobs that are still known, of the tenant and its
// contract, and alarms about those jobs. Of other tenants they name nothing. Pure.
#pragma once

#include <optional>
#include <string>

#include "db/journal.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {

inline constexpr const char* kOtherActor = "another";  // who is neither of the tenant nor an operator

// As GET /v1/events shows it; none: it is not for this tenant. caller: the name of who asks.
std::optional<std::string> event_of_tenant(const control::ClusterState& state, const std::string& tenant,
                                           const std::string& caller, const db::Record& record);

}  // namespace railweave::api
