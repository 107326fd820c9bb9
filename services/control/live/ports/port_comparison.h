// Whether ports have the tables that another program was asked to write: read, and nothing is sent that changes them.
#pragma once

#include <span>

#include "fabric/drivers/fabric_driver.h"

namespace railweave::control {

// As FabricDriver::program_ports() reports it: `unchanged`, or `mismatch` with the first entry that differs. SL to VL and
// arbitration; a high-priority table without weights makes its limit count for nothing.
Result<fabric::PortTablesReport> compare_ports(fabric::FabricDriver& driver,
                                               std::span<const fabric::PortTables> wanted);

}  // namespace railweave::control
