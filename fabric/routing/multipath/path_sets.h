// Several next hops at once: per home and switch the set of links by which packets for the home's end ports may leave,
// and the fraction of traffic on each, as ECMP or spraying on Ethernet and adaptive routing on InfiniBand use them. A
// set has every next hop on the order that up/down tables follow, so path sets are as free of loops, of packets and of
// credits, as those tables. Immutable once made; any number of threads may read one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

// The sets of one plane, in its local numbers.
struct PlanePathSets {
  struct Member {
    std::uint32_t arc = 0;
    // Of the switch's traffic to the home: in proportion to the link's rate, divided by its cost. A set sums to 1.
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

// routing: of the engine up-down or fat-tree. Errors: impossible, for the engines torus-3d, dragonfly and layered,
// which prove only the one path of each pair on its lane free of deadlocks. O(homes x arcs) time and memory.
Result<PathSets> make_path_sets(const Routing& routing);

}  // namespace railweave::fabric
