// Alarms as a table, for `railweave alarms` and `railweave status`: the critical ones first.
#pragma once

#include "services/railweave/command_line/listing.h"

namespace railweave::cli {

ListView alarms_view();
bool is_muted(const Json& alarm);

}  // namespace railweave::cli
