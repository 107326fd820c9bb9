// Traffic classes as commands for the Ethernet adapters of a Linux host: of tc(8) for what passes the kernel, of dcb(8) for
// what the adapter sends by itself, RDMA above all.
#pragma once

#include <string>
#include <vector>

#include "fabric/qos/qos_class.h"
#include "fabric/topology/topology.h"

namespace railweave::cli {

// Throw CommandFailure where the host has no cabled Ethernet adapter.
std::string tc_config(const fabric::TopologyPtr& cabled, fabric::HostId host, const fabric::QosClasses& classes);
// Adds to `notes` what an adapter cannot do.
std::string dcb_config(const fabric::TopologyPtr& cabled, fabric::HostId host, const fabric::QosClasses& classes,
                       std::vector<std::string>& notes);

}  // namespace railweave::cli
