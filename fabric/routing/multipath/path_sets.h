// Several ways at once: per switch and home switch the set of links that packets for its end ports may leave by, and
// which fraction each takes. What ECMP or spraying does on Ethernet and adaptive routing on InfiniBand. The sets here
// hold every link that is nearest on the order that up/down tables follow, so they are as free of loops, of packets and
// of credits, as those tables are. Immutable once made; any number of threads may read one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

// Of one plane, in its local numbers.
struct PlanePathSets {
  struct Member {
    std::uint32_t arc = 0;
    // Of what the switch sends there: in proportion to the link's rate, divided by its cost. Those of a set sum to 1.
    float fraction = 1;
  };
  std::vector<std::uint64_t> first;  // by home x switch, and the end
  std::vector<Member> members;

  [[nodiscard]] std::span<const Member> set(std::size_t home, std::size_t s, std::size_t switches) const {
    const std::size_t i = home * switches + s;
    return std::span(members).subspan(first[i], first[i + 1] - first[i]);
  }
};

struct PathSets {
  RoutingScopePtr scope;
  std::vector<PlanePathSets> planes;  // by PlaneId

  [[nodiscard]] std::span<const PlanePathSets::Member> set(PlaneId plane, std::size_t home, std::size_t s) const {
    return planes[plane.index()].set(home, s, scope->plane(plane).switch_count());
  }
};

// Of an up-down or fat-tree routing. Errors: impossible, for engines whose routes allow one way only: what torus-3d,
// dragonfly and layered prove free of deadlocks is the one path on its lane. O(homes x arcs) time and memory.
Result<PathSets> make_path_sets(const Routing& routing);

}  // namespace railweave::fabric
