// Traffic classes as `tc` commands for the adapters of a Linux host.
#pragma once

#include <string>

#include "fabric/qos/qos_class.h"
#include "fabric/topology/topology.h"

namespace railweave::cli {

// Throws CommandFailure where the host has no cabled adapter.
std::string tc_config(const fabric::TopologyPtr& cabled, fabric::HostId host, const fabric::QosClasses& classes);

}  // namespace railweave::cli
