#include "fabric/routing/multipath/path_sets.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/routing/up_down/up_down_paths.h"

namespace railweave::fabric {

namespace {

PlanePathSets plane_sets(const Plane& plane, const UpDownPaths& paths) {
  PlanePathSets sets;
  const std::size_t switches = plane.switch_count();
  sets.first.reserve(plane.homes.size() * switches + 1);
  sets.members.reserve(paths.hops.arc_count());
  const auto strength = [&](std::uint32_t a) {
    const std::uint32_t rate = plane.arc_rate_mbps[a];
    return static_cast<double>(rate == 0 ? 1 : rate) / static_cast<double>(paths.live.cost_of(a));
  };
  for (std::size_t home = 0; home < plane.homes.size(); ++home) {
    for (std::size_t s = 0; s < switches; ++s) {
      sets.first.push_back(sets.members.size());
      const auto arcs = paths.hops.arcs(home, s);
      double sum = 0;
      for (const std::uint32_t a : arcs) sum += strength(a);
      for (const std::uint32_t a : arcs) sets.members.push_back({a, static_cast<float>(strength(a) / sum)});
    }
  }
  sets.first.push_back(sets.members.size());
  return sets;
}

}  // namespace

Result<PathSets> make_path_sets(const Routing& routing) {
  PathSets sets{.scope = routing.tables.scope_ptr(), .planes = {}};
  for (const PlaneId id : sets.scope->planes()) {
    const auto paths = up_down_paths(routing, id);
    if (!paths) {
      return fail(ErrorKind::impossible, "routing.singlePath",
                  fmt::format("the engine {} proves one path per pair free of deadlocks, and no other", routing.engine),
                  {}, "choose the engine up-down or fat-tree for multipath");
    }
    sets.planes.push_back(plane_sets(sets.scope->plane(id), *paths));
  }
  return sets;
}

}  // namespace railweave::fabric
