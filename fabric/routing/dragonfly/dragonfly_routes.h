// Minimal routes on a dragonfly or dragonfly+ in its present state: over the fewest links between groups, then over the
// fewest links in all. Without failures that is local-global-local, or up-global-down. Kim and Dally's lane shift (ISCA
// 2008) keeps such routes free of credit loops: local links are on lane 0 before the link between groups and on lane 1
// after it, which a switch decides by the port where a packet enters. In a dragonfly+ links up, between groups and down
// are different links in this order, so that one lane is enough. Routes that failures change (further groups, two local
// links in a row) are detours. Serves one thread at a time.
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

  // The next hops from every switch to the home's.
  struct ToHome {
    std::vector<std::uint32_t> nearest_first;  // switches that have a route; the home's is the first
    std::vector<std::uint32_t> first_arc;      // by place in nearest_first, and the end
    std::vector<std::uint32_t> arcs;
  };
  void compute(std::uint32_t home, ToHome& to_home);

  // The links that a route begins with; other: the route is a detour.
  enum class Pattern : std::uint8_t { empty, local, local_then_global, global, up, down, other };
  // The pattern of a route that begins with the arc and continues with a rest of the given pattern.
  [[nodiscard]] Pattern prepend(std::uint32_t arc, Pattern rest) const;

  [[nodiscard]] PlaneLanes lanes() const;
  // All turns of routes that are no detours: LaneScheme::turns.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> turns(unsigned lanes) const;

 private:
  static constexpr std::uint32_t kGlobal = 1U << 16U;  // the length of a link between groups: more than all local ones

  const Plane& plane_;
  const LivePlane& live_;
  const DragonflyGroups& groups_;
  std::vector<std::uint32_t> distance_;  // by switch, to the home being computed
  std::vector<std::uint8_t> settled_;
  // Switches by number of local links: those at the present number of links between groups, and those at one more.
  std::vector<std::vector<std::uint32_t>> now_, next_;
};

}  // namespace railweave::fabric
