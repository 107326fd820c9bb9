// Which virtual lanes paths use: the second half of a routing, beside its tables. Most tables need one lane. Where an
// engine needs more, every path (from a home switch to a destination) has a service level, and a switch maps the level
// to a lane, by the ports a packet enters and leaves by where the map says so (the SLtoVLMappingTable of the InfiniBand
// Architecture Specification 1.7, 14.2.5.8). Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/base/id.h"
#include "fabric/routing/plane/destination.h"

namespace railweave::fabric {

inline constexpr unsigned kMaxDataLanes = 15;  // VL0 to VL14; VL15 is management's
inline constexpr unsigned kMaxServiceLevels = 16;

// The lanes of one plane, in its local numbers. Default: one lane for everything.
struct PlaneLanes {
  std::uint8_t lanes = 1;   // lanes in use, numbered from 0, before QoS multiplies them
  std::uint8_t levels = 1;  // service levels in use
  // Service level of every path: homes x destinations, home-major; empty: 0 throughout.
  std::vector<std::uint8_t> path_level;
  // Class of every arc, the same at the switch it leaves and the switch it enters; empty: lane = level. Class 0 is
  // reserved for end ports.
  std::uint8_t classes = 0;
  std::vector<std::uint8_t> arc_class;
  // (class entered by, class left by, level) -> lane: classes x classes x levels.
  std::vector<std::uint8_t> lane_table;

  [[nodiscard]] bool single() const { return lanes <= 1; }
  [[nodiscard]] unsigned level(std::size_t home, std::size_t destination, std::size_t destinations) const {
    return path_level.empty() ? 0U : path_level[home * destinations + destination];
  }
  static constexpr std::uint32_t kFromEndPort = UINT32_MAX;
  // The lane on arc `out` of a packet of that level which entered the switch by arc `in`.
  [[nodiscard]] unsigned lane(std::uint32_t in, std::uint32_t out, unsigned level) const {
    if (arc_class.empty()) return level;
    const std::size_t from = in == kFromEndPort ? 0 : arc_class[in];
    return lane_table[(from * classes + arc_class[out]) * levels + level];
  }
  friend bool operator==(const PlaneLanes&, const PlaneLanes&) = default;
};

struct Lanes {
  std::vector<PlaneLanes> planes;  // by PlaneId

  [[nodiscard]] unsigned used() const {
    unsigned most = 0;
    for (const auto& plane : planes) most = plane.lanes > most ? plane.lanes : most;
    return most;
  }
};

}  // namespace railweave::fabric
