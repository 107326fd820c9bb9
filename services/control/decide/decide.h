// Decides a command on a state: the events it becomes, or why it is refused. Used by the control loop, for each command
// of a batch. Pure but for the placer cache and the queue runner, which cache what follows from states; reads no clock.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <vector>

#include "services/control/decide/queue_runner.h"
#include "services/control/events/command.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

struct Decision {
  std::vector<EventBody> events;  // in order, all of them or none; empty: nothing changes
  JobId job;                      // for commands about a job
  bool replayed = false;          // an earlier request already had this effect
  // The request is refused, but what it says of the fabric is kept: the events are durable before it is answered.
  std::optional<Rejection> refusal = {};
};
using DecisionResult = std::expected<Decision, Rejection>;

// Includes the changes of guarantees and alarms that follow from the command's own events.
DecisionResult decide(const ClusterState& state, const Command& command, std::int64_t now_us, PlacerCache& placers,
                      QueueRunner& queue);

}  // namespace railweave::control
