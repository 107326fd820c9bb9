// Finds what is exchanged or moved: a device that is gone, with another one that is not accepted at the ends of its cables; a
// host whose adapters are at ports of accepted switches that no accepted cable has. What is not certain, because a device
// does not answer or cables lead to several, is none. Pure but for what the driver found.
#pragma once

#include <vector>

#include "fabric/drivers/fabric_driver.h"
#include "services/control/live/links/subnet_links.h"
#include "services/control/live/status/found_change.h"

namespace railweave::control {

// found: the fabric as discovered last. keeps_lids: the one that is exchanged is given the LID of the one before.
std::vector<FoundChange> find_changes(const SubnetLinks& links, const fabric::FabricDriver& driver,
                                      const fabric::Topology& found, bool keeps_lids);

}  // namespace railweave::control
