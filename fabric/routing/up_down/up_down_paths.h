// What an up/down routing could have chosen from: for every home and switch the arcs that lead there on the order its
// tables follow. Multipath is made of them.
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
// None: the routing is of another engine. O(homes x arcs).
std::optional<UpDownPaths> up_down_paths(const Routing& routing, PlaneId plane);

}  // namespace railweave::fabric
