// The summary and findings of a fabric file as a JSON document, with the field names of GET /v1/fabric.
#pragma once

#include <vector>

#include "fabric/topology/checks/checks.h"
#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// What `lab generate` and `lab convert` print of the fabric that they wrote.
Json fabric_report(const fabric::FabricSummary& summary);

// With findings: what `fabric import -o FILE` prints.
Json fabric_report(const fabric::FabricSummary& summary, const std::vector<fabric::Finding>& findings);

// What `lab fabric` prints.
Json fabric_report(const fabric::FabricSummary& summary, const std::vector<fabric::Finding>& findings, double read_ms);

}  // namespace railweave::cli
