// Changes that follow from a state without a command, after commands or time have changed it: reservations that end,
// damaged jobs, guarantees at risk, the next cycle of the queue, nodes that become empty. The control loop applies the
// events of each step and calls again, in the same transaction as the commands. Owned by the control thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "services/control/decide/launch_deadlines.h"
#include "services/control/decide/move_steps.h"
#include "services/control/decide/queue_runner.h"
#include "services/control/events/event.h"
#include "services/control/guarantees/routes.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

class FollowUp {
 public:
  // reroute: other routes are tried for guarantees at risk before other nodes are.
  FollowUp(PlacerCache& placers, QueueRunner& queue, bool reroute)
      : placers_(placers), queue_(queue), reroute_(reroute) {}

  // Call before a sequence of next(); the queue runs at most once in each sequence.
  void begin() { queue_ran_ = coverage_ran_ = false; }
  // The events of the next step. Empty: nothing is left to do.
  std::vector<EventBody> next(const ClusterState& state, std::int64_t now_us);
  // The events of the last steps could not be stored: all steps are due again.
  void reset() {
    damage_checked_ = risk_checked_ = alarms_checked_ = 0;
    other_routes_ = {};
    launch_deadlines_.reset();
    automatic_moves_.reset();
    queue_.reset();
  }
  // How long until a step may be due without a further command, if no clock is set meanwhile; none: never.
  [[nodiscard]] std::optional<std::int64_t> due_in_us(const ClusterState& state, std::int64_t now_us) const;

 private:
  [[nodiscard]] std::vector<EventBody> step(const ClusterState& state, std::int64_t now_us);

  PlacerCache& placers_;
  QueueRunner& queue_;
  const bool reroute_;
  GuaranteeReroute other_routes_;
  LaunchDeadlines launch_deadlines_;
  AutomaticMoves automatic_moves_;
  bool queue_ran_ = false;
  bool coverage_ran_ = false;
  std::uint64_t alarms_checked_ = 0;  // view_version at which the alarms about links between sites were right
  std::uint64_t damage_checked_ = 0;  // queue_version at which no damage was left to record
  std::int64_t damage_due_us_ = 0;    // when a repair is due though nothing changes; 0: none is
  std::uint64_t risk_checked_ = 0;    // queue_version at which no repair of a guarantee was left to do
};

}  // namespace railweave::control
