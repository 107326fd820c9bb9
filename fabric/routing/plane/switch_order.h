// Which of two switches is above the other. Routes only ever go up and then down, so tables on any order are free of
// credit loops on a single lane (Schroeder et al., Autonet, 1991): what remains is to choose an order on which routes
// are short and well spread.
//
// On a layered fabric switches are ranked by their distance from the hosts. Where links join switches of one rank the
// ranking that spreads traffic best is taken out of several. Where a pair has no route that goes up and then down (end
// ports on spines, or what failures leave), peaks are lowered below the passes between them, highest pass first, until
// every switch has a way up to one top: the priority flood of hydrology (Barnes et al. 2014), upside down. Then
// everything that is connected is routed.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

struct LivePlane;

struct SwitchOrder {
  std::vector<std::uint32_t> position;   // switch -> place from the bottom, all different
  std::vector<std::uint32_t> ascending;  // its inverse
  // Every arc joins neighbouring ranks of a ranking, and positions follow it: shortest routes go down as soon as they
  // can.
  bool layered = false;
};

using Ranking = std::vector<std::uint32_t>;  // switch -> rank from the bottom

// By distance from the switches with host ports; those that reach none are at the bottom.
Ranking tier_ranking(const Plane& plane);
// By mean distance to all host ports, the nearest highest: the middle of a fabric is its top, whatever hangs on it.
Ranking central_ranking(const Plane& plane);
// By distance from the switch from which all others are nearest.
Ranking root_ranking(const Plane& plane);

bool is_layered(const Plane& plane, const Ranking& ranking);
// By rank, then GUID.
SwitchOrder order_by(const Plane& plane, const Ranking& ranking);
// `order` with the drained switches at the bottom.
SwitchOrder lower_drained(const SwitchOrder& order, const LivePlane& live);
// `order` with peaks lowered so that every switch has a way up to the top of its connected part. Drained switches are
// at the bottom and no pass.
SwitchOrder flooded(const Plane& plane, const LivePlane& live, const SwitchOrder& order);

}  // namespace railweave::fabric
