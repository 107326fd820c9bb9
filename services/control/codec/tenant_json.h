// Tenant <-> JSON values, for requests, answers and the journal.
#pragma once

#include <string>

#include "services/control/state/tenant.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Result<control::Tenant> tenant_from_json(const std::string& name, const Json& value);
Out to_json(const control::Tenant& tenant);  // without its name

}  // namespace railweave::api
