// From configuration to a connection: which driver a subnet gets.
#pragma once

#include "services/control/live/live_subnets.h"
#include "services/railweaved/config.h"

namespace railweave {

control::LiveSubnets::Subnet live_subnet(const SubnetConfig& config);

}  // namespace railweave
