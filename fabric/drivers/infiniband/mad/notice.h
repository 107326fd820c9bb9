// What a node reports to the subnet manager by itself: Notice (IBA 13.4.8.2) and the traps of subnet management
// (14.2.5.1).
#pragma once

#include <cstdint>

#include "fabric/drivers/infiniband/mad/bytes.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric::infiniband {

inline constexpr std::uint16_t kTrapLinkStateChange = 128;   // a port of the switch `about_lid` went up or down
inline constexpr std::uint16_t kTrapCapabilityChange = 144;  // capabilities or description of `about_lid` changed
inline constexpr std::uint16_t kTrapBadManagementKey = 256;  // `about_lid` sent a datagram with another M_Key

struct Notice {
  bool generic = false;
  std::uint8_t type = 0;
  std::uint16_t trap = 0;
  Lid issuer_lid = 0;
  Lid about_lid = 0;  // of traps 128, 144 and 256
};

Notice read_notice(AttributeBytes data);

}  // namespace railweave::fabric::infiniband
