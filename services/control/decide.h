// What a command would do to a state: the events it becomes, or why it is refused. Pure but for the placer and the
// queue, which are caches of the state's free GPUs.
#pragma once

#include <expected>
#include <vector>

#include "services/control/command.h"
#include "services/control/placer_cache.h"
#include "services/control/queue_runner.h"

namespace railweave::control {

struct Decision {
  std::vector<EventBody> events;  // none: nothing to change
  JobId job;
  bool replayed = false;
};

std::expected<Decision, Rejection> decide(const ClusterState& state, const Command& command, std::int64_t now_us,
                                          PlacerCache& placers, QueueRunner& queue);

}  // namespace railweave::control
