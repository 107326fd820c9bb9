#include "fabric/drivers/infiniband/mad/switch_info.h"

#include <algorithm>

namespace railweave::fabric::infiniband {

SwitchInfo read_switch_info(AttributeBytes data) {
  SwitchInfo info;
  info.linear_capacity = read_16(data, 0);
  info.multicast_capacity = read_16(data, 4);
  info.linear_top = read_16(data, 6);
  info.life_time = read_bits(data, 11, 3, 5);
  info.port_state_change = read_bits(data, 11, 2, 1) != 0;
  info.partition_enforcement = read_16(data, 14);
  info.enhanced_port_zero = read_bits(data, 16, 3, 1) != 0;
  std::copy_n(data.begin(), info.as_read.bytes.size(), info.as_read.bytes.begin());
  return info;
}

std::array<std::uint8_t, 64> switch_info_to_set(AttributeBytes current, std::uint16_t linear_top,
                                                bool clear_port_state_change) {
  std::array<std::uint8_t, 64> data{};
  std::copy(current.begin(), current.end(), data.begin());
  write_be(data, 6, 2, linear_top);
  write_bits(data, 11, 2, 1, clear_port_state_change ? 1 : 0);
  return data;
}

}  // namespace railweave::fabric::infiniband
