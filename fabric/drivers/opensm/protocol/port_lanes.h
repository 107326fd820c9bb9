// Tables of single ports in a policy: lanes of service levels and their arbitration, which the plugin hands to OpenSM port by
// port. Plain values, and how the tables of a plan become such lines. See protocol.md.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/guid.h"
#include "fabric/qos/port_tables.h"

namespace railweave::fabric::opensm {

using fabric::LaneMap;

// What leaves by a port, of a switch: whatever port it came in by, except as below.
struct PortLanes {
  PortRef port;  // 1 to 254
  LaneMap map{};
  std::vector<VlWeight> weights;  // of the low-priority table; the high-priority table is empty
  friend bool operator==(const PortLanes&, const PortLanes&) = default;
};
// What comes in by a port of a switch: the levels that pass, a bit each; the others are dropped. All, where nothing is said.
struct EnteringLevels {
  PortRef port;
  std::uint16_t levels = 0;
  friend auto operator<=>(const EnteringLevels&, const EnteringLevels&) = default;
};
// What comes in by one port and leaves by another, whatever the above says.
struct CrossingLanes {
  PortRef in;
  std::uint8_t out = 0;
  LaneMap map{};
  friend auto operator<=>(const CrossingLanes&, const CrossingLanes&) = default;
};

// Sorted once canonical() has seen them.
struct PortPolicy {
  std::vector<PortLanes> lanes;
  std::vector<EnteringLevels> entering;
  std::vector<CrossingLanes> crossing;

  [[nodiscard]] bool empty() const { return lanes.empty() && entering.empty() && crossing.empty(); }
  [[nodiscard]] std::size_t lines() const { return lanes.size() + entering.size() + crossing.size(); }
  // in: 0 for an adapter, and for what a switch itself sends. None: the policy says nothing of the port.
  [[nodiscard]] std::optional<LaneMap> map(Guid device, std::uint8_t in, std::uint8_t out) const;
  [[nodiscard]] const PortLanes* find(PortRef port) const;
  friend bool operator==(const PortPolicy&, const PortPolicy&) = default;
};

// Sorts. Errors: a GUID of 0, a port or a lane out of range, more than 64 weights, anything named twice.
Result<void> make_canonical(PortPolicy& policy);

// Only ports that have both a map and an arbitration; their other tables are not OpenSM's plugin's.
PortPolicy port_policy(std::span<const PortTables> ports);

std::string write_lines(const PortPolicy& policy);
// Whether it was one of the lines of ports.
bool add_port_line(std::string_view line, PortPolicy& policy);

}  // namespace railweave::fabric::opensm
