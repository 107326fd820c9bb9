// Which links of a plane change, when they fail, also routes that do not cross them. On a layered order (trees) the
// distance of a switch to a home changes only where all of its routes there cross the failed link, and a destination
// stays on its port as long as that is a next hop (table_fill.h). So the routes of others change only
//   - where the failure leaves a pair of end ports without a route, which may lower the order of the whole plane;
//   - where a switch goes down to a home through several children, the first of which decides the planned ports.
// On other orders, with lowered peaks or with drained switches nothing is proven, and every link counts.
#pragma once

#include <vector>

#include "fabric/routing/up_down/plane_state.h"

namespace railweave::fabric {

// Ascending. May name links whose failure changes nothing. O(homes with end ports x arcs).
std::vector<LinkId> far_reaching_links(const Plane& plane, const PlaneState& state);

}  // namespace railweave::fabric
