// All next hops that an up/down routing chose from, on the order that its tables follow. Multipath is computed from
// them.
#pragma once

#include <memory>
#include <optional>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/routing/up_down/next_hops.h"

namespace railweave::fabric {

struct UpDownPaths {
  NextHops hops;
  LivePlane live;
};
// None: another engine made the routing. O(homes x arcs).
std::optional<UpDownPaths> up_down_paths(const Routing& routing, PlaneId plane);

}  // namespace railweave::fabric
