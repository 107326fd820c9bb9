// What infiniband_probe does with single ports: their tables and counters.
#pragma once

#include <memory>

#include "fabric/drivers/infiniband/infiniband_driver.h"

namespace railweave::fabric::infiniband {

// Lines of stdin, a port each: GUID PORT [sl2vl=0,1,..] [high=VL:WEIGHT,..] [low=..] [limit=N] [pkeys=ffff,..] in
// hexadecimal [removeDefault]. An empty line writes what came before it and reads it back: one JSON line.
int tables(InfinibandDriver& driver);
// Lines of stdin: GUID PORT. An empty line reads them all: one JSON line.
int counters(InfinibandDriver& driver);

}  // namespace railweave::fabric::infiniband
