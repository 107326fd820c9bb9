// Parts of answers about the fabric: its summary and its findings. Also printed by `railweave lab`.
#pragma once

#include <vector>

#include "fabric/topology/checks/checks.h"
#include "fabric/topology/finding.h"
#include "services/json/json_out.h"

namespace railweave::api {

Out fabric_summary_json(const fabric::FabricSummary& summary);
Out findings_json(const std::vector<fabric::Finding>& findings);

}  // namespace railweave::api
