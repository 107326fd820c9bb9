// Makes the live subnet of a [[subnet]] table: its options, and the driver to connect it with.
#pragma once

#include <functional>

#include "services/control/live/live_subnets.h"
#include "services/railweaved/config.h"

namespace railweave {

control::LiveSubnets::Subnet live_subnet(const SubnetConfig& config, const fabric::health::ArchiveOptions& archive,
                                         std::function<bool()> leads);

}  // namespace railweave
