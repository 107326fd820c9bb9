#include "fabric/drivers/infiniband/mad/port_info.h"

#include <algorithm>

namespace railweave::fabric::infiniband {

namespace {

std::uint16_t active_width(std::uint8_t code) {
  switch (code) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return 0;
  }
}

LinkSpeed active_speed(std::uint8_t code, std::uint8_t extended) {
  switch (extended) {
    case 1:
      return LinkSpeed::fdr;
    case 2:
      return LinkSpeed::edr;
    case 4:
      return LinkSpeed::hdr;
    case 8:
      return LinkSpeed::ndr;
    default:
      break;
  }
  switch (code) {
    case 1:
      return LinkSpeed::sdr;
    case 2:
      return LinkSpeed::ddr;
    case 4:
      return LinkSpeed::qdr;
    default:
      return LinkSpeed::unknown;
  }
}

}  // namespace

LinkSpec PortInfo::link(bool extended_speeds) const {
  return infiniband_link(active_width(width_active),
                         active_speed(speed_active, extended_speeds ? extended_speed_active : std::uint8_t{0}));
}

PortInfo read_port_info(AttributeBytes data) {
  PortInfo info;
  info.lid = read_16(data, 16);
  info.sm_lid = read_16(data, 18);
  info.capabilities = read_32(data, 20);
  info.local_port = read_8(data, 28);
  info.width_enabled = read_8(data, 29);
  info.width_supported = read_8(data, 30);
  info.width_active = read_8(data, 31);
  info.speed_supported = read_bits(data, 32, 4, 4);
  info.state = static_cast<PortState>(read_bits(data, 32, 0, 4));
  info.physical_state = static_cast<PhysicalState>(read_bits(data, 33, 4, 4));
  info.lmc = read_bits(data, 34, 0, 3);
  info.speed_active = read_bits(data, 35, 4, 4);
  info.speed_enabled = read_bits(data, 35, 0, 4);
  info.neighbor_mtu = read_bits(data, 36, 4, 4);
  info.sm_sl = read_bits(data, 36, 0, 4);
  info.vl_capacity = read_bits(data, 37, 4, 4);
  info.high_limit = read_8(data, 38);
  info.arbitration_high_capacity = read_8(data, 39);
  info.arbitration_low_capacity = read_8(data, 40);
  info.mtu_capacity = read_bits(data, 41, 0, 4);
  info.operational_vls = read_bits(data, 43, 4, 4);
  info.capabilities2 = read_16(data, 60);
  info.extended_speed_active = read_bits(data, 62, 4, 4);
  info.extended_speed_supported = read_bits(data, 62, 0, 4);
  info.extended_speed_enabled = read_bits(data, 63, 0, 5);
  std::ranges::copy(data, info.as_read.bytes.begin());
  return info;
}

PortKey read_port_key(AttributeBytes data) {
  return {.key = read_64(data, 0), .protection = read_bits(data, 34, 6, 2), .lease_s = read_16(data, 26)};
}

void write_port_key(AttributeSpace data, const PortKey& key) {
  write_be(data, 0, 8, key.key);
  write_bits(data, 34, 6, 2, key.protection);
  write_be(data, 26, 2, key.lease_s);
}

std::array<std::uint8_t, 64> port_info_to_set(AttributeBytes current, const PortSetting& setting) {
  std::array<std::uint8_t, 64> data{};
  std::copy(current.begin(), current.end(), data.begin());
  write_be(data, 29, 1, 0);                                // LinkWidthEnabled: no change
  write_bits(data, 33, 4, 4, 0);                           // PortPhysicalState
  write_bits(data, 33, 0, 4, 0);                           // LinkDownDefaultState
  write_bits(data, 35, 0, 4, 0);                           // LinkSpeedEnabled
  write_bits(data, 63, 0, 5, 0);                           // LinkSpeedExtEnabled
  write_bits(data, 51, 7, 1, setting.reregister ? 1 : 0);  // asked for, never kept
  write_bits(data, 32, 0, 4, static_cast<unsigned>(setting.state));
  // A port that was given none has no GIDs by which it can be asked for.
  if (read_64(current, 8) == 0) write_be(data, 8, 8, kDefaultGidPrefix);
  if (setting.lid) write_be(data, 16, 2, *setting.lid);
  if (setting.sm_lid) write_be(data, 18, 2, *setting.sm_lid);
  if (setting.sm_sl) write_bits(data, 36, 0, 4, *setting.sm_sl);
  if (setting.lmc) write_bits(data, 34, 0, 3, *setting.lmc);
  if (setting.neighbor_mtu) write_bits(data, 36, 4, 4, *setting.neighbor_mtu);
  if (setting.operational_vls) write_bits(data, 43, 4, 4, *setting.operational_vls);
  if (setting.high_limit) write_be(data, 38, 1, *setting.high_limit);
  return data;
}

}  // namespace railweave::fabric::infiniband
