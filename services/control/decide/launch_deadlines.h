// What happens when a launcher does not answer in time: offers go back to the queue, jobs that never ran make way, and an
// alarm tells of GPUs that were not freed. Owned by the control thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "services/control/events/event.h"

namespace railweave::control {

class LaunchDeadlines {
 public:
  static constexpr std::int64_t kFirstPause_us = 10'000'000;  // after an offer that expired; doubles with each
  static constexpr std::int64_t kLongestPause_us = 600'000'000;
  static constexpr const char* kAlarm = "job.notFreed";

  // The events of what is due; empty: nothing is.
  std::vector<EventBody> next(const ClusterState& state, std::int64_t now_us);
  // How long until next() may have events without a further change; none: never.
  [[nodiscard]] std::optional<std::int64_t> due_in_us(std::int64_t now_us) const;
  void reset() { checked_.reset(); }

 private:
  std::optional<std::uint64_t> checked_;  // queue_version of due_us_
  std::int64_t due_us_ = 0;               // the first deadline; 0: there is none
};

}  // namespace railweave::control
