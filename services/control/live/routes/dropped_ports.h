// Tables without the entries that send packets into cables of end ports which lead elsewhere now: where another switch is at the
// end of one, or the same, what goes in comes round again.
#pragma once

#include <span>

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::control {

// The routing with packets for the end ports of these links dropped by the switches that they are accepted at. Not to be
// rerouted from. Shares planes that come out equal with `before`; null: there is none.
fabric::Routing without(const fabric::Routing& routing, std::span<const fabric::LinkId> links,
                        const fabric::Routing* before);

}  // namespace railweave::control
