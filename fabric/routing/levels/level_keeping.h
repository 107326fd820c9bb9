// What engines on several lanes share: routes after failures keep the levels of the routes as cabled (level_keeper.h), as far
// as there are such routes; else the engine's own are used and a finding says that paths have other levels. Pure.
#pragma once

#include <functional>

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

// An engine's routes of a fabric as it is, whatever was before.
using RouteAsIs = std::function<Result<Routing>(const RoutingInput&)>;

// Whose routes are preferred after failures, where both are verified on the levels as cabled.
enum class Preferred : unsigned char { cabled_with_detours, as_is };
// before: an earlier result of this function for the same engine, or null; what was computed of the cabling is taken from it.
Result<Routing> route_keeping_levels(const RoutingInput& input, const RouteAsIs& route_as_is, Preferred preferred,
                                     const Routing* before = nullptr);

// Of findings: some paths have other levels than as cabled, of which senders must be told.
inline constexpr const char* kLevelsChanged = "levelsChanged";

}  // namespace railweave::fabric
