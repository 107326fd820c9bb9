// An order of a plane's switches, from the bottom to the top. Routes that go up and then down on any order are free of
// credit loops on a single lane (Schroeder et al., Autonet, 1991); the choice of the order decides how short and how
// well spread they are. Pure functions on plain values.
//
// On a layered fabric switches are ranked by their distance from the hosts. Where links join switches of one rank, the
// best of several rankings is chosen. Where a pair has no route that goes up and then down (end ports on spines, or
// what failures leave), peaks are lowered below the passes between them, highest pass first, until every switch has an
// ascending path to one top. This is the priority flood of hydrology (Barnes et al. 2014), upside down; after it
// everything that is connected is routed.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

struct LivePlane;

struct SwitchOrder {
  std::vector<std::uint32_t> position;   // switch -> place from the bottom, all different
  std::vector<std::uint32_t> ascending;  // place -> switch
  // Every arc joins neighbouring ranks of a ranking that positions follow: shortest routes go down as soon as possible.
  bool layered = false;
};

using Ranking = std::vector<std::uint32_t>;  // switch -> rank from the bottom

// By distance from the switches with host ports; switches that reach none are at the bottom.
Ranking tier_ranking(const Plane& plane);
// By mean distance to all host ports, the nearest switch highest: the middle of a fabric is its top, even if it has
// hosts.
Ranking central_ranking(const Plane& plane);
// By distance from the switch with the least mean distance to all host ports.
Ranking root_ranking(const Plane& plane);

bool is_layered(const Plane& plane, const Ranking& ranking);
// By rank, then GUID.
SwitchOrder order_by(const Plane& plane, const Ranking& ranking);
// `order` with the drained switches at the bottom.
SwitchOrder lower_drained(const SwitchOrder& order, const LivePlane& live);
// `order` with peaks lowered so that every switch has an ascending path to the top of its connected part. Drained
// switches are at the bottom and count as no pass.
SwitchOrder flooded(const Plane& plane, const LivePlane& live, const SwitchOrder& order);

}  // namespace railweave::fabric
