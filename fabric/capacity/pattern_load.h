// The load of flows with known rates on each directed link: the pattern of a job (its rings, trees and pairs) rather
// than any traffic it might send. Never more than the hose load of the same ports.
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
  std::size_t unrouted = 0;  // flows whose packets do not arrive: nothing is guaranteed to them
};

// The load of all flows at once; for sets of flows that never run together, use larger_of() their loads.
// O(flows x hops).
PatternLoad pattern_load(const PathWalker& walker, std::span<const PatternFlow> flows);

}  // namespace railweave::fabric
