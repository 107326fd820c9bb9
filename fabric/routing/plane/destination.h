// What forwarding tables route to: one destination per LID of an end port (2^LMC of them) or of a switch's management
// port. Plain values; RoutingScope numbers them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fabric/base/enum_text.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric {

using DestinationId = Id<struct DestinationTag>;  // dense over all planes of a RoutingScope, those of a plane together
using PlaneId = Id<struct PlaneTag>;

// In the order in which a switch's destinations are numbered: those with most traffic come first, so that the rest
// does not disturb their balance.
enum class DestinationKind : std::uint8_t { host, router, aggregation, switch_management };
BOOST_DESCRIBE_ENUM(DestinationKind, host, router, aggregation, switch_management)
constexpr std::optional<std::string_view> enum_exception(DestinationKind kind) {
  return kind == DestinationKind::switch_management ? std::optional<std::string_view>("switch") : std::nullopt;
}

struct Destination {
  PortId port;              // the end port; none: the management port of home
  SwitchId home;            // the switch that the end port is cabled to
  std::uint16_t out_port;   // home's port number that leads to the end port; 0: home itself
  std::uint8_t lid_offset;  // 0 to 2^LMC - 1
  DestinationKind kind;
};

}  // namespace railweave::fabric
