#include <utility>

#include "services/control/decide/commands.h"
#include "services/control/decide/maintenance.h"
#include "services/control/decide/refusal.h"
#include "services/control/decide/reservation_plan.h"

namespace railweave::control {

DecisionResult decide_command(const DecisionInput& in, const PutQueueRules& command) {
  const ClusterState& state = in.state;
  if (command.if_version && *command.if_version != state.queue_rules->version) {
    return refuse_version("the queue's policy", *command.if_version, state.queue_rules->version);
  }
  if (auto checked = scheduler::check_queue_policy(command.policy); !checked) {
    return std::unexpected(Rejection{checked.error(), nullptr});
  }
  if (state.queue_rules->version != 0 && command.policy == state.queue_rules->policy) return Decision{};
  return Decision{{QueueRulesPut{command.policy}}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const PutReservation& command) {
  const ClusterState& state = in.state;
  const auto present = state.reservations->find(command.name);
  const std::uint64_t version = present == state.reservations->end() ? 0 : present->second.version;
  if (command.if_version && *command.if_version != version) {
    return refuse_version("the reservation", *command.if_version, version);
  }
  auto window = plan_window(state, command, in.now_us, in.placers);
  if (!window) return std::unexpected(Rejection{window.error(), nullptr});
  std::vector<EventBody> events;
  if (present != state.reservations->end()) add_maintenance_end(state, present->second, events);
  events.emplace_back(ReservationPut{{std::move(*window), command.reason, 0, false, {}}});
  return Decision{std::move(events), {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const RemoveReservation& command) {
  const ClusterState& state = in.state;
  const auto present = state.reservations->find(command.name);
  if (present == state.reservations->end()) {
    return refuse(ErrorKind::notFound, "reservations.notFound", "there is no reservation '" + command.name + "'",
                  "GET /v1/reservations lists them");
  }
  if (command.if_version && *command.if_version != present->second.version) {
    return refuse_version("the reservation", *command.if_version, present->second.version);
  }
  std::vector<EventBody> events;
  add_maintenance_end(state, present->second, events);
  events.emplace_back(ReservationRemoved{command.name, false});
  return Decision{std::move(events), {}, false};
}

}  // namespace railweave::control
