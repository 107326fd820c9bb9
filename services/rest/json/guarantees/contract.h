// Contracts and traffic classes as JSON.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {

// The body of PUT /v1/contracts/{tenant}; an empty body promises nothing.
Result<scheduler::Contract> read_contract(const std::string& tenant, std::string_view body);
std::string write_contract(const control::TenantContract& contract);

// The body of PUT /v1/qos-classes: {"items": [...]}. Whether they make sense is check_qos_classes()'s to say.
Result<fabric::QosClasses> read_qos_classes(std::string_view body);
std::string write_qos_classes(const control::ClusterState& state);

}  // namespace railweave::api
