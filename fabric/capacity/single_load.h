// The load of one reservation by itself. Callers with many patterns keep a PathWalker (loads_of.h): making one is a pass over the
// fabric, which a hose does not need.
#pragma once

#include "fabric/capacity/loads_of.h"

namespace railweave::fabric {

PromisedLoad load_of_promise(const Reservation& reservation, HoseLoads& loads);

}  // namespace railweave::fabric
