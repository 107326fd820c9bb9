// What forwarding tables route to: one destination per LID of an end port (2^LMC of them), or of a switch's management
// port.
#pragma once

#include <cstdint>
#include <string_view>

#include "fabric/topology/ids.h"

namespace railweave::fabric {

using DestinationId = Id<struct DestinationTag>;  // dense over all planes of a RoutingScope, those of a plane together
using PlaneId = Id<struct PlaneTag>;

// In the order they stand in at their switch: what carries most traffic first, so that the rest cannot disturb its
// balance.
enum class DestinationKind : std::uint8_t { host, router, aggregation, switch_management };

struct Destination {
  PortId port;              // the end port; none: the management port of home
  SwitchId home;            // the switch it hangs on
  std::uint16_t out_port;   // home's port number it hangs on; 0: home itself
  std::uint8_t lid_offset;  // 0 to 2^LMC - 1
  DestinationKind kind;
};

constexpr std::string_view to_string(DestinationKind kind) {
  switch (kind) {
    case DestinationKind::host:
      return "host";
    case DestinationKind::router:
      return "router";
    case DestinationKind::aggregation:
      return "aggregation";
    case DestinationKind::switch_management:
      return "switch";
  }
  return "";
}

}  // namespace railweave::fabric
