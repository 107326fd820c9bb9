// The cables that groups may be led over where routes use several lanes: multicast_lanes.h on a snapshot. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/multicast_trees.h"

namespace railweave::fabric::infiniband {

struct ProvenCables {
  SwitchGraph graph;                  // of all switches; all cables of those whose routes use one lane
  std::uint32_t levels = UINT32_MAX;  // on top of a partition's first one, as bits: others may not be led
  std::size_t left_out = 0;           // switches that cables join to the others, and no proven ones do
};
// As long as prove_multicast() takes, for planes on several lanes.
ProvenCables proven_cables(const AdministeredSubnet& subnet, const AttachedSwitches& attached);

}  // namespace railweave::fabric::infiniband
