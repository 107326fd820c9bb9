// The folders that a configuration names files and sockets in, looked at before anything is begun: what is missing is then said by
// its key, and not when the first file is written.
#pragma once

#include "fabric/base/error.h"
#include "services/railweaved/config.h"

namespace railweave {

// Error (config.noFolder): the first that is not there.
Result<void> check_folders(const Config& config);

}  // namespace railweave
