// The first administrator: where no valid token of one exists, one is issued and written to a file that only the service's
// user may read.
#pragma once

#include "services/control/control_loop.h"
#include "services/railweaved/config.h"

namespace railweave {

// Called before the service listens. The log says where the token is, or that none is asked for.
Result<void> ensure_administrator(control::ControlLoop& loop, const Config& config, const log::Log& log);

}  // namespace railweave
