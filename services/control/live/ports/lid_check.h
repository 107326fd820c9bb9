// Whether LIDs are those that tables have entries for: two ports with one LID take each other's packets, and a port
// with another LID than its own gets none.
#pragma once

#include <vector>

#include "fabric/routing/plane/routing_scope.h"
#include "services/control/live/links/subnet_context.h"
#include "services/control/live/links/subnet_links.h"

namespace railweave::control {

struct LidFindings {
  std::vector<Alarm> alarms;  // "lid.conflict"
  bool differ = false;        // some port has a LID that is not its own: by the scope, in direct mode
};

// As the driver last read them. scope: null where LIDs are given by another subnet manager.
LidFindings check_lids(const SubnetContext& context, const SubnetLinks& links, const fabric::RoutingScope* scope);

}  // namespace railweave::control
