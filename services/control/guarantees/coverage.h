// Covers guarantees against link failures again, after links or capacity have returned: one job after the other, a
// bounded number of failures per step, between commands. Used by FollowUp; on the control thread.
#pragma once

#include <vector>

#include "services/control/events/event.h"
#include "services/control/views/guarantee_book.h"

namespace railweave::control {

// Link failures that one step on the control thread computes at most.
inline constexpr std::size_t kFailuresPerStep = 256;

struct CoverageStep {
  std::vector<EventBody> events;
  bool again = false;  // more steps are needed
};

// The next step for the jobs noted in GuaranteeBook::to_cover().
CoverageStep next_coverage(const ClusterState& state, GuaranteeBook& book);

}  // namespace railweave::control
