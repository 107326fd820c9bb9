// Tenant <-> JSON values, for requests, answers and the journal. Private to api/dto.
#pragma once

#include <string>

#include "api/dto/json_out.h"
#include "api/dto/strict_json.h"
#include "services/control/tenant.h"

namespace railweave::api {

Result<control::Tenant> tenant_from_json(const std::string& name, const Json& value);
Out to_json(const control::Tenant& tenant);  // without its name

}  // namespace railweave::api
