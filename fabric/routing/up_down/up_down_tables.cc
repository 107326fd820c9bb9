#include "fabric/routing/up_down/up_down_tables.h"

#include <utility>

#include "fabric/routing/up_down/plane_plan.h"
#include "fabric/routing/up_down/reach.h"
#include "fabric/routing/up_down/table_fill.h"

namespace railweave::fabric {

UpDownTables up_down_tables(const RoutingInput& input, const Plane& plane, const LivePlane& live, bool balance) {
  PlanePlan plan = plan_plane(*input.scope, plane, local_weights(input, plane), {.balance = balance});
  auto [order, directions, reach] = reach_all(plane, live, lower_drained(plan.order, live));
  return {TableFill(plane, live, directions, reach, plan.nominal).all(),
          std::make_shared<const SwitchOrder>(std::move(order)), std::move(plan.findings)};
}

}  // namespace railweave::fabric
