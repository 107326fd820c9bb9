// Recheck of guarantees after a change of links, drains, the topology, the classes or jobs: which guarantees are now at
// risk, hold again, or lose the reservation for a link failure. Guarantees of higher priority and earlier admission are
// kept first; the others are at risk until there is capacity again. Used by decide(), FollowUp and the drain preview.
#pragma once

#include <vector>

#include "services/control/events/event.h"
#include "services/control/views/guarantee_book.h"

namespace railweave::control {

// The events that follow from the change between the two states. Leaves the book at `after`. Covering failures again is
// tried only if links or capacity returned, and for a bounded number of failures; the rest is noted in
// GuaranteeBook::to_cover().
std::vector<EventBody> guarantee_changes(const ClusterState& before, const ClusterState& after, GuaranteeBook& book,
                                         std::int64_t now_us);

// Appends these events, and the alarms that they raise and clear, to the events decided on the state. No effect if no
// job has a guarantee.
void add_guarantee_changes(const ClusterState& state, std::vector<EventBody>& events, GuaranteeBook& book,
                           std::int64_t now_us);

}  // namespace railweave::control
