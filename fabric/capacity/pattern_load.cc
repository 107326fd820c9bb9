#include "fabric/capacity/pattern_load.h"

#include <algorithm>

namespace railweave::fabric {

PatternLoad pattern_load(const PathWalker& walker, std::span<const PatternFlow> flows) {
  PatternLoad result;
  std::vector<DirectedLink> path;
  LoadVector crossed;
  for (const PatternFlow& flow : flows) {
    if (flow.mbps <= 0) continue;
    path.clear();
    if (!walker.append(flow.ports, path)) {
      ++result.unrouted;
      continue;
    }
    for (const DirectedLink link : path) crossed.push_back({link, flow.mbps});
  }
  std::ranges::sort(crossed, {}, &LinkLoad::link);
  for (const LinkLoad& one : crossed) {
    if (!result.loads.empty() && result.loads.back().link == one.link) {
      result.loads.back().mbps += one.mbps;
    } else {
      result.loads.push_back(one);
    }
  }
  return result;
}

}  // namespace railweave::fabric
