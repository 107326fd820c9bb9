// The tables that the switches and adapters of a live InfiniBand subnet have at this moment, as text for railweave-verify. The
// form: services/verify/tables.md.
#pragma once

#include <string>

#include "fabric/base/error.h"
#include "fabric/drivers/infiniband/infiniband_driver.h"

namespace railweave::cli {

// Only asks, and writes nothing to the subnet. Error "collect.silent": a device did not answer; its tables would be missing.
// Others are the driver's.
Result<std::string> read_subnet_tables(fabric::infiniband::InfinibandDriver& driver);

}  // namespace railweave::cli
