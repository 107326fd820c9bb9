// What the checks of a fabric found, as advice.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology/finding.h"
#include "fabric/topology/topology.h"
#include "services/railweave/assess/advice.h"
#include "services/railweave/assess/report_commands.h"

namespace railweave::cli {

std::vector<Advice> cabling_advice(const fabric::Topology& topology, const std::vector<fabric::Finding>& findings,
                                   const ReportCommands& commands);

}  // namespace railweave::cli
