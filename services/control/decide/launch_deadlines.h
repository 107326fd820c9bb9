// What happens when a launcher does not answer in time: offers go back to the queue, jobs that never ran make way, and an
// alarm tells of GPUs that were not freed. Owned by the control thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "services/control/events/event.h"
#include "services/control/state/job_table.h"

namespace railweave::control {

inline constexpr std::string_view kNotRunning = "launch.notRunning";  // of Launch::reason

// Back to the queue, which offers it no GPUs for some time.
OfferExpired offer_expired(const Job& job, Message reason, std::int64_t now_us);

class LaunchDeadlines {
 public:
  // After an offer that expired, or after which no process ran; doubles with each.
  static constexpr std::int64_t kFirstPause_us = 10'000'000;
  static constexpr std::int64_t kLongestPause_us = 600'000'000;
  static constexpr const char* kAlarm = "job.notFreed";

  // The events of what is due; empty: nothing is.
  // O(blocks of the job table + jobs that changed + jobs that are due).
  std::vector<EventBody> next(const ClusterState& state, std::int64_t now_us);
  // How long until next() may have events without a further change; none: never.
  [[nodiscard]] std::optional<std::int64_t> due_in_us(std::int64_t now_us) const;
  void reset() { checked_.reset(); }

 private:
  void follow(const JobTable& jobs);
  [[nodiscard]] std::vector<EventBody> due(const ClusterState& state, std::int64_t now_us) const;

  std::optional<std::uint64_t> checked_;                  // queue_version at which nothing was due
  JobTable jobs_;                                         // that the sets are of
  std::set<std::pair<std::int64_t, JobId>> by_deadline_;  // placed jobs whose phase has one
  std::set<JobId> overdue_;
};

}  // namespace railweave::control
