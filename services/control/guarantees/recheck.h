// Which guarantees stop holding, hold again, or lose what was kept for a link failure when links, drains, the topology,
// the classes or other jobs change. Who came first, and of higher priority, keeps what it was promised; the others are
// at risk until there is room again.
#pragma once

#include <vector>

#include "services/control/events/event.h"
#include "services/control/views/guarantee_book.h"

namespace railweave::control {

// As events that follow those which led from one state to the other. The book is at `after` then. Covering failures
// anew is tried only where something got better, and for a bounded number of failures at a time: the rest is noted in
// the book.
std::vector<EventBody> guarantee_changes(const ClusterState& before, const ClusterState& after, GuaranteeBook& book,
                                         std::int64_t now_us);

// Appends them, and the alarms they raise and clear, to what was decided on the state; nothing where no job has a
// guarantee.
void add_guarantee_changes(const ClusterState& state, std::vector<EventBody>& events, GuaranteeBook& book,
                           std::int64_t now_us);

}  // namespace railweave::control
