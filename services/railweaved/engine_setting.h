// The routing engine that the configuration names.
#pragma once

#include "fabric/base/error.h"
#include "services/railweaved/config.h"

namespace railweave {

namespace control {
class RoutingCache;
}

// Errors: there is no such engine; beside OpenSM, whose plugin chooses its engine itself.
Result<void> check_engine(const LiveConfig& live);
// Else each subnet may take a better one.
bool is_engine_named(const LiveConfig& live);
// Before routes are asked for.
void set_engine(const LiveConfig& live, control::RoutingCache& routes);

}  // namespace railweave
