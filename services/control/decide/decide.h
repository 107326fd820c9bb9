// What a command would do to a state: the events it becomes, or why it is refused. Pure but for the placer and the
// queue, which are caches of the state's free GPUs.
#pragma once

#include <expected>
#include <vector>

#include "services/control/decide/queue_runner.h"
#include "services/control/events/command.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

struct Decision {
  std::vector<EventBody> events;  // none: nothing to change
  JobId job;
  bool replayed = false;
};

std::expected<Decision, Rejection> decide(const ClusterState& state, const Command& command, std::int64_t now_us,
                                          PlacerCache& placers, QueueRunner& queue);

}  // namespace railweave::control
