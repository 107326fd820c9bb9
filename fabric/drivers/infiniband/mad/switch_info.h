// What a switch can hold, and whether a port of it changed: SwitchInfo (IBA 14.2.5.4).
#pragma once

#include <array>
#include <cstdint>

#include "fabric/drivers/infiniband/mad/bytes.h"

namespace railweave::fabric::infiniband {

struct SwitchInfo {
  std::uint16_t linear_capacity = 0, multicast_capacity = 0;
  std::uint16_t linear_top = 0;             // packets for higher LIDs are dropped
  std::uint8_t life_time = 0;               // packets are dropped after 4.096 us * 2^life_time in the switch
  bool port_state_change = false;           // some port's state changed since the subnet manager cleared this
  std::uint16_t partition_enforcement = 0;  // entries of a PKey table of an external port
  bool enhanced_port_zero = false;
  AttributeAsRead<20> as_read;
  friend bool operator==(const SwitchInfo&, const SwitchInfo&) = default;
};

SwitchInfo read_switch_info(AttributeBytes data);

// For Set, from what was last read. clear_port_state_change: writing the bit as 1 clears it.
std::array<std::uint8_t, 64> switch_info_to_set(AttributeBytes current, std::uint16_t linear_top,
                                                bool clear_port_state_change);

}  // namespace railweave::fabric::infiniband
