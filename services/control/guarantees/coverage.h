// Jobs whose guarantee holds, but not through another failure, and for which there may be room again: covered one after
// the other, a bounded number of failures at a time, between commands.
#pragma once

#include <vector>

#include "services/control/events/event.h"
#include "services/control/views/guarantee_book.h"

namespace railweave::control {

// Failures of links that are looked at in one go on the control thread.
inline constexpr std::size_t kFailuresAtATime = 256;

struct CoverageStep {
  std::vector<EventBody> events;
  bool again = false;  // there is more to look at
};

// Of the jobs that the book was left with (GuaranteeBook::to_cover).
CoverageStep next_coverage(const ClusterState& state, GuaranteeBook& book);

}  // namespace railweave::control
