// Minimal routes on a dragonfly or dragonfly+ as it is now: over the fewest links between groups, then over the fewest
// links in all. Where everything works that is local-global-local, or up-global-down. Kim and Dally's lane shift
// (ISCA 2008) keeps such routes free of credit loops: local links are on lane 0 before the link between groups and on
// lane 1 after it, which a switch tells by the port a packet enters by. In a dragonfly+ links up, between groups and
// down are different links in this order, so that one lane is enough. What failures make of routes (further groups, two
// local links in a row) is a detour.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/dragonfly/dragonfly_groups.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

class DragonflyRoutes {
 public:
  DragonflyRoutes(const Plane& plane, const LivePlane& live, const DragonflyGroups& groups);

  // From every switch to the home's: the arcs that lead there.
  struct ToHome {
    std::vector<std::uint32_t> nearest_first;  // switches that have a way, the home's first
    std::vector<std::uint32_t> first_arc;      // by place in nearest_first, and the end
    std::vector<std::uint32_t> arcs;
  };
  void compute(std::uint32_t home, ToHome& to_home);

  // What the rest of a route begins with, or is; other: it is a detour.
  enum class Pattern : std::uint8_t { empty, local, local_then_global, global, up, down, other };
  // Of a route that begins with the arc and goes on with a rest of that pattern.
  [[nodiscard]] Pattern prepend(std::uint32_t arc, Pattern rest) const;

  [[nodiscard]] PlaneLanes lanes() const;
  // LaneScheme::turns of all routes that are no detours.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> turns(unsigned lanes) const;

 private:
  static constexpr std::uint32_t kGlobal = 1U << 16U;  // a link between groups outweighs all others of a route

  const Plane& plane_;
  const LivePlane& live_;
  const DragonflyGroups& groups_;
  std::vector<std::uint32_t> distance_;  // by switch, to the home being computed
  std::vector<std::uint8_t> settled_;
  // Switches by number of links within groups: as many links between groups away as is being looked at, and one more.
  std::vector<std::vector<std::uint32_t>> now_, next_;
};

}  // namespace railweave::fabric
