// Classes and partitions in opensm mode: OpenSM's files, written to a folder that its configuration names
// (partition_config_file, qos_policy_file, and the options of opensm-qos.conf as part of its own).
#pragma once

#include <string>
#include <vector>

#include "fabric/qos/infiniband_plan.h"

namespace railweave::control {

// Each file is replaced in one step, and only where its text differs. Names of those that were written.
Result<std::vector<std::string>> offer_opensm_files(const fabric::OpenSmPolicy& policy, const std::string& folder);

}  // namespace railweave::control
