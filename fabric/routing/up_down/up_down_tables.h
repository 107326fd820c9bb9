// The tables of one plane on routes that go up and then down: engines for particular shapes use them for planes, or
// destinations, that their own routes do not cover. Free of credit loops on one lane. Pure.
#pragma once

#include <memory>
#include <vector>

#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/plane/routing_engine.h"
#include "fabric/routing/plane/switch_order.h"
#include "fabric/topology/finding.h"

namespace railweave::fabric {

struct UpDownTables {
  PlaneTables tables;
  std::shared_ptr<const SwitchOrder> order;  // the proof that they are free of credit loops
  std::vector<Finding> findings;
};

// balance: choose ports by balancing where the closed form does not spread evenly (plan_plane).
UpDownTables up_down_tables(const RoutingInput& input, const Plane& plane, const LivePlane& live, bool balance);

}  // namespace railweave::fabric
