// Findings as a JSON array. Private to api/dto.
#pragma once

#include <vector>

#include "api/dto/json_out.h"
#include "fabric/topology/finding.h"

namespace railweave::api {

Out findings_json(const std::vector<fabric::Finding>& findings);

}  // namespace railweave::api
