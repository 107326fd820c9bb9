// How many paths between host ports, one to each LID, cross each link between switches, by the tables that switches hold or by others. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::cli {

// The loads of all directed links of these planes, in no order.
std::vector<std::uint64_t> link_loads(const fabric::FabricView& view, const fabric::ForwardingTables& tables,
                                      const std::vector<bool>& planes);

}  // namespace railweave::cli
