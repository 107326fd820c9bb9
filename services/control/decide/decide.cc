#include "services/control/decide/decide.h"

#include "services/control/decide/commands.h"
#include "services/control/guarantees/recheck.h"

namespace railweave::control {

DecisionResult decide(const ClusterState& state, const Command& command, std::int64_t now_us, PlacerCache& placers,
                      QueueRunner& queue) {
  const DecisionInput in{state, now_us, placers, queue};
  auto decision = std::visit([&](const auto& body) { return decide_command(in, body); }, command.body);
  if (decision) add_guarantee_changes(state, decision->events, placers.guarantees(), now_us);
  return decision;
}

}  // namespace railweave::control
