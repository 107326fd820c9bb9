// What crosses a directed link by the tables of a fabric: which destinations, and how many pairs. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/flow/directed_link.h"
#include "fabric/routing/plane/destination.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {

struct LinkCrossings {
  // End ports that packets over the link go to, at LID offset 0; and the end ports that send such packets.
  std::vector<fabric::DestinationId> destinations;
  std::vector<fabric::PortId> sources;
  std::uint64_t pairs = 0;  // ordered (source, destination), of different end ports
};

// Nothing crosses a link that is down or of no plane (NVLink, Ethernet of hosts that no tables route).
// O(destinations over the link x switches of the plane).
LinkCrossings crossings(const FabricRoutes& routes, fabric::DirectedLink link);

}  // namespace railweave::control
