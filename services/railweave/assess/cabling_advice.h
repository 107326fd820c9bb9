// What the checks of a fabric found, as advice.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology/finding.h"
#include "fabric/topology/topology.h"
#include "services/railweave/assess/advice.h"

namespace railweave::cli {

// `sources`: the command line's files, for the commands that show a finding.
std::vector<Advice> cabling_advice(const fabric::Topology& topology, const std::vector<fabric::Finding>& findings,
                                   const std::string& sources);

}  // namespace railweave::cli
