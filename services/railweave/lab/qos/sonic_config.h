// Traffic classes as the QoS part of a SONiC switch's config_db.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/qos/qos_class.h"
#include "fabric/topology/topology.h"

namespace railweave::cli {

struct SonicOptions {
  std::uint64_t buffer_mib = 64;  // packet memory of the switch
  std::uint64_t port_step = 8;    // between the numbers of ports: Ethernet0, Ethernet8, ...
};

// Adds to `notes` what the switch cannot do, and what was assumed of it. Throws CommandFailure.
std::string sonic_config(const fabric::TopologyPtr& cabled, fabric::SwitchId sw, const fabric::QosClasses& classes,
                         const SonicOptions& options, std::vector<std::string>& notes);

}  // namespace railweave::cli
