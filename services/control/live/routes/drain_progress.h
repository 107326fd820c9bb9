// How far drains of one subnet's links and switches are: complete when the tables that switches hold no longer use
// them.
#pragma once

#include "services/control/live/links/subnet_context.h"
#include "services/control/live/links/subnet_links.h"
#include "services/control/live/routes/applied_tables.h"

namespace railweave::control {

// Reports what changed. applied: null where the tables are not known, or not for this state's view yet.
void report_drains(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links,
                   const AppliedTables* applied);

}  // namespace railweave::control
