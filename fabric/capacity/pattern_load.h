// What flows with known rates put on each directed link: the pattern of a job (its rings, trees and pairs) rather than
// any traffic it might send. Never more than the hose that the same ports would need.
#pragma once

#include <cstdint>
#include <span>

#include "fabric/capacity/load_vector.h"
#include "fabric/flow/flow_paths.h"

namespace railweave::fabric {

struct PatternFlow {
  EndPortPair ports;
  std::int64_t mbps = 0;
};

struct PatternLoad {
  LoadVector loads;
  std::size_t unrouted = 0;  // flows that do not arrive: nothing is guaranteed to them
};

// All flows at once; of flows that never run together, take larger_of() the loads of each set. O(flows x hops).
PatternLoad pattern_load(const PathWalker& walker, std::span<const PatternFlow> flows);

}  // namespace railweave::fabric
