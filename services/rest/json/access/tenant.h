// Tenants as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "services/control/state/tenant.h"

namespace railweave::api {

// The body of PUT /v1/tenants/{name}; an empty body is a tenant without limits.
Result<control::Tenant> read_tenant(const std::string& name, std::string_view body);
std::string write_tenant(const control::Tenant& tenant, std::uint64_t held_gpus);

}  // namespace railweave::api
