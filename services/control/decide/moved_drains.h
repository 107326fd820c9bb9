// Drains of links whose cables were exchanged. A drained link stays drained under its name; while its cable is elsewhere,
// both links that its two ports have instead are drained as well (Drain::follows), so that neither port carries traffic
// that was asked to leave it. Those end when the cable is back, or when the drain that they follow is cleared.
#pragma once

#include <utility>
#include <vector>

#include "services/control/events/event.h"

namespace railweave::control {

// What follows once `after` has another cabling than `before`: drains that begin and end.
std::vector<EventBody> moved_drains(const ClusterState& before, const ClusterState& after);

// Drains and costs of exchanged devices and of their links, which are called by the GUIDs of those in their places now. exchanged:
// the GUID before and after.
std::vector<EventBody> drains_of_exchanged(const ClusterState& before, const ClusterState& after,
                                           const std::vector<std::pair<Guid, Guid>>& exchanged);

// With the drain of this link, those that follow it end; where another drain asks for the same links, they follow that.
std::vector<EventBody> clear_with_followers(const ClusterState& state, const DrainCleared& cleared);

}  // namespace railweave::control
