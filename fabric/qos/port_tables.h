// The tables of a port for service levels and partitions: SL to VL, VL arbitration, PKeys. Plain values: plans are made
// of them and drivers write and read them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/base/guid.h"
#include "fabric/qos/ingress_filter.h"

namespace railweave::fabric {

struct PortRef {
  Guid device;            // node GUID of a switch or an adapter
  std::uint8_t port = 0;  // 0: the management port of a switch
  friend auto operator<=>(PortRef, PortRef) = default;
};

inline constexpr std::uint8_t kDropLane = 15;  // where service levels lead whose packets are dropped

struct VlWeight {
  std::uint8_t vl = 0;
  std::uint8_t weight = 0;  // in units of 64 bytes; 0: skipped
  friend bool operator==(VlWeight, VlWeight) = default;
};

struct VlArbitration {
  std::vector<VlWeight> high, low;  // the whole tables; the rest of the port's entries get weight 0
  std::optional<std::uint8_t>
      high_limit;  // in units of 4 KiB before the low table is served; 255: never; absent: unchanged
  friend bool operator==(const VlArbitration&, const VlArbitration&) = default;
};

using LaneMap = std::array<std::uint8_t, 16>;  // VL by SL; kDropLane drops

// What packets that came in by a port of the switch have instead of its other map.
struct MapFromPort {
  std::uint8_t in = 0;
  LaneMap map{};
  friend bool operator==(const MapFromPort&, const MapFromPort&) = default;
};

// Tables that are absent stay unchanged.
struct PortTables {
  PortRef port;
  std::optional<LaneMap> sl_to_vl;      // of a switch: for every input port, except those of from_ports,
  IngressFilter ingress;                // and except what the filter drops
  std::vector<MapFromPort> from_ports;  // ascending; where the lanes of routes depend on the port a packet came by
  // Of a switch, for writing: the input ports whose maps may differ from these; none: all may.
  std::optional<std::vector<std::uint8_t>> changed_in_ports;
  std::optional<VlArbitration> arbitration;
  std::optional<std::vector<std::uint16_t>> pkeys;  // the whole table, by index; bit 15: full member; 0: none
  // Without the default partition a device can no longer talk to the subnet's administration.
  bool may_remove_default_pkey = false;

  // The map for packets that came in by a port.
  [[nodiscard]] LaneMap sl_to_vl_from(unsigned in_port) const {
    const auto other = std::ranges::lower_bound(from_ports, in_port, {}, &MapFromPort::in);
    LaneMap map = other != from_ports.end() && other->in == in_port ? other->map : *sl_to_vl;
    for (unsigned level = 0; level < map.size(); ++level) {
      if (!ingress.passes(in_port, level)) map[level] = kDropLane;
    }
    return map;
  }
  friend bool operator==(const PortTables&, const PortTables&) = default;
};

}  // namespace railweave::fabric
