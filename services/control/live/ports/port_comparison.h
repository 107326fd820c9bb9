// Whether ports have the tables that another program was asked to write: read, and nothing is sent that changes them.
#pragma once

#include <span>

#include "fabric/drivers/fabric_driver.h"

namespace railweave::control {

// As FabricDriver::program_ports() reports it: `unchanged`, or `mismatch` with the first entry that differs, of the tables
// that are given. `asked` is about the number of datagrams.
Result<fabric::PortTablesReport> compare_ports(fabric::FabricDriver& driver,
                                               std::span<const fabric::PortTables> wanted);

}  // namespace railweave::control
