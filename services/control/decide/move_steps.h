// What follows from moves without a command: jobs whose GPUs are free are placed where they were to go, jobs of a plan that
// all accepted are told to make way, offers without an answer end; and, where the queue's policy is automatic, plans for the
// job that waits first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "services/control/decide/queue_runner.h"
#include "services/control/events/event.h"

namespace railweave::control {

// The moves of the job's plan that have not begun end; `why` is told to the job.
std::vector<EventBody> end_plan(const ClusterState& state, const Job& job, const Message& why);

// The next events; empty: nothing is due. O(jobs with a move).
std::vector<EventBody> next_moves(const ClusterState& state, PlacerCache& placers, std::int64_t now_us);
// How long until next_moves() may have events without a further change; none: never.
std::optional<std::int64_t> moves_due_in_us(const ClusterState& state, std::int64_t now_us);

// Owned by the control thread.
class AutomaticMoves {
 public:
  static constexpr std::int64_t kRest_us = 10'000'000;  // between two plans: each takes as long as many placements

  // The offers for the first job that has waited long enough; empty: none.
  std::vector<EventBody> next(const ClusterState& state, const QueueView& view, PlacerCache& placers,
                              std::int64_t now_us);
  [[nodiscard]] std::optional<std::int64_t> due_in_us(const ClusterState& state, const QueueView& view,
                                                      std::int64_t now_us) const;
  void reset() { planned_at_version_ = 0; }

 private:
  std::uint64_t planned_at_version_ = 0;  // queue_version of the last plan
  std::int64_t planned_us_ = 0;
};

}  // namespace railweave::control
