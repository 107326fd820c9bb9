// Two dumps of one subnet: which cables and rates they tell differently. Devices are matched by GUID.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology/finding.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

// Whether some switch is in both.
bool share_a_switch(const Topology& a, const Topology& b);

// Findings: sourcesDisagree, of cables that only one has (or has elsewhere), and of rates.
std::vector<Finding> compare_cables(const Topology& first, const std::string& first_name, const Topology& other,
                                    const std::string& other_name);

}  // namespace railweave::fabric
