// Findings as a JSON array. Private to this folder.
#pragma once

#include <vector>

#include "fabric/topology/finding.h"
#include "services/json/json_out.h"

namespace railweave::api {

Out findings_json(const std::vector<fabric::Finding>& findings);

}  // namespace railweave::api
