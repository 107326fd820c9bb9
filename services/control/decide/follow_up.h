// What a state itself asks for, after commands have changed it or time has passed: reservations that are over, damaged
// jobs, guarantees at risk, the queue's next cycle, nodes that have become empty. The control loop applies each answer
// and asks again, all in the transaction of the commands that led to it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "services/control/decide/queue_runner.h"
#include "services/control/events/event.h"
#include "services/control/guarantees/routes.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

class FollowUp {
 public:
  // reroute: other routes are tried for guarantees at risk, before other nodes.
  FollowUp(PlacerCache& placers, QueueRunner& queue, bool reroute)
      : placers_(placers), queue_(queue), reroute_(reroute) {}

  // To be called once before next() is asked until it has nothing more: the queue runs at most once in between.
  void begin() { queue_ran_ = coverage_ran_ = false; }
  std::vector<EventBody> next(const ClusterState& state, std::int64_t now_us);
  void forget() {
    damage_checked_ = risk_checked_ = 0;
    other_routes_ = {};
    queue_.forget();
  }
  // When there may be something to do by time alone; none: not by time.
  [[nodiscard]] std::optional<std::int64_t> due_at(const ClusterState& state) const;

 private:
  [[nodiscard]] std::vector<EventBody> find(const ClusterState& state, std::int64_t now_us);

  PlacerCache& placers_;
  QueueRunner& queue_;
  const bool reroute_;
  GuaranteeReroute other_routes_;
  bool queue_ran_ = false;
  bool coverage_ran_ = false;
  std::uint64_t damage_checked_ = 0;  // queue_version at which no damage was left to record
  std::uint64_t risk_checked_ = 0;    // likewise, no guarantee at risk
};

}  // namespace railweave::control
