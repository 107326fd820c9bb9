// The state and capabilities of one port: PortInfo (IBA 14.2.5.6).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "fabric/drivers/infiniband/mad/bytes.h"
#include "fabric/topology/ids.h"
#include "fabric/topology/link.h"

namespace railweave::fabric::infiniband {

enum class PortState : std::uint8_t { noChange = 0, down = 1, initialize = 2, armed = 3, active = 4 };
enum class PhysicalState : std::uint8_t {
  noChange = 0,
  sleep = 1,
  polling = 2,
  disabled = 3,
  training = 4,
  linkUp = 5,
  errorRecovery = 6,
  phyTest = 7,
};

inline constexpr std::uint64_t kDefaultGidPrefix = 0xfe80000000000000;  // IBA 4.1.1

struct PortInfo {
  static constexpr std::uint32_t kIsSm = 1U << 1U;             // of capabilities
  static constexpr std::uint32_t kExtendedSpeeds = 1U << 14U;  // of capabilities

  Lid lid = 0;
  Lid sm_lid = 0;
  std::uint8_t lmc = 0;
  std::uint8_t sm_sl = 0;
  std::uint32_t capabilities = 0;
  std::uint16_t capabilities2 = 0;
  std::uint8_t local_port = 0;
  std::uint8_t width_enabled = 0, width_supported = 0, width_active = 0;  // masks
  std::uint8_t speed_enabled = 0, speed_supported = 0, speed_active = 0;
  std::uint8_t extended_speed_enabled = 0, extended_speed_supported = 0, extended_speed_active = 0;
  PortState state = PortState::noChange;
  PhysicalState physical_state = PhysicalState::noChange;
  std::uint8_t neighbor_mtu = 0, mtu_capacity = 0;    // codes: 1 256, 2 512, 3 1024, 4 2048, 5 4096 bytes
  std::uint8_t vl_capacity = 0, operational_vls = 0;  // codes: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14
  std::uint8_t arbitration_high_capacity = 0, arbitration_low_capacity = 0;
  std::uint8_t high_limit = 0;
  AttributeAsRead<64> as_read;

  [[nodiscard]] std::uint64_t gid_prefix() const { return read_64(as_read.bytes, 8); }
  friend bool operator==(const PortInfo&, const PortInfo&) = default;
  // Whether there is a peer that can be asked.
  [[nodiscard]] bool link_up() const {
    return state == PortState::initialize || state == PortState::armed || state == PortState::active;
  }
  [[nodiscard]] bool is_sm() const { return (capabilities & kIsSm) != 0; }
  [[nodiscard]] bool has_extended_speeds() const { return (capabilities & kExtendedSpeeds) != 0; }
  // Width and speed as active; unknown where the port does not say. Extended speeds count only where there are such: an
  // adapter's port says so itself, of a switch only port 0 does.
  [[nodiscard]] LinkSpec link(bool extended_speeds) const;
  // The same width and speed, in the same state.
  [[nodiscard]] bool same_link(const PortInfo& other) const {
    return state == other.state && physical_state == other.physical_state && width_active == other.width_active &&
           speed_active == other.speed_active && extended_speed_active == other.extended_speed_active;
  }
};

PortInfo read_port_info(AttributeBytes data);

// What to change on a port; what is not given stays.
struct PortSetting {
  std::optional<Lid> lid, sm_lid;
  std::optional<std::uint8_t> lmc, neighbor_mtu, operational_vls, high_limit;
  std::optional<std::uint8_t> sm_sl;
  bool reregister = false;  // clients behind the port are told to ask and join again
  PortState state = PortState::noChange;
  friend bool operator==(const PortSetting&, const PortSetting&) = default;
};

// What a port says of its management key (M_Key). Ports of a switch but its management port have none of their own.
struct PortKey {
  static constexpr std::uint8_t kHidden = 1;  // protection: every host may read all but the key, and change nothing

  std::uint64_t key = 0;        // 0: none, or it is not told
  std::uint8_t protection = 0;  // 0: every host may read the key; 2, 3: nothing is answered without it
  std::uint16_t lease_s = 0;
  friend bool operator==(const PortKey&, const PortKey&) = default;
};
PortKey read_port_key(AttributeBytes data);
void write_port_key(AttributeSpace data, const PortKey& key);

// For Set: `current` as last read from the port, with the fields whose zero means "no change" cleared, and what the
// setting names. Set writes the whole attribute, so it must start from what is there.
std::array<std::uint8_t, 64> port_info_to_set(AttributeBytes current, const PortSetting& setting);

}  // namespace railweave::fabric::infiniband
