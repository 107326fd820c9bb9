// A job that waits or that Railweave has placed, and for some time after it ended.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement.h"
#include "services/control/state/job_guarantee.h"

namespace railweave::control {

class JobId {
 public:
  constexpr JobId() = default;
  constexpr explicit JobId(std::uint64_t number) : number_(number) {}
  [[nodiscard]] constexpr std::uint64_t number() const { return number_; }
  friend constexpr auto operator<=>(JobId, JobId) = default;

 private:
  std::uint64_t number_ = 0;
};
std::string to_string(JobId id);  // "job-000123"
std::optional<JobId> parse_job_id(std::string_view text);

enum class JobState : std::uint8_t {
  queued,     // waits for its turn
  placed,     // holds its GPUs
  completed,  // ended by itself
  cancelled,
  lost,  // its nodes left the fabric
};
std::string_view to_string(JobState state);
std::optional<JobState> parse_job_state(std::string_view text);

struct JobChange {  // one line of its history
  std::int64_t time_us = 0;
  std::uint64_t seq = 0;
  JobState state = JobState::placed;
  std::string reason;
  std::string actor;
};

struct Job {
  static constexpr std::size_t kMaxHistory = 100;  // lines; of more, the first ten and the newest are kept

  JobId id;
  scheduler::JobSpec spec;
  JobState state = JobState::placed;
  std::int64_t submitted_us = 0;   // kept when it is evicted: it does not lose its turn
  std::int64_t not_before_us = 0;  // it does not want to start sooner
  std::int64_t started_us = 0;     // 0: has not, or waits again
  std::int64_t saved_us = 0;       // its last checkpoint since then, as it told us; 0: none
  std::int64_t ended_us = 0;       // 0: has not
  std::string idempotency_key;
  std::string request_digest;      // of what came with the key
  scheduler::Placement placement;  // ids of the topology of the state it is in
  std::vector<std::string> nodes;  // names, in the order their first rank comes; outlives the topology
  std::string waits;               // why it waits, as its history last said: a word of to_string(WaitCode)
  std::string damage;              // "": whole; else which of its GPUs are of no use any more, and what is to be done
  std::vector<JobChange> history;
  std::optional<JobGuarantee> guarantee;  // on the network; none: best effort
  std::uint64_t version = 0;              // seq of the event that last changed it: its ETag

  [[nodiscard]] bool holds_gpus() const { return state == JobState::placed; }
  [[nodiscard]] bool has_ended() const { return state > JobState::placed; }
  void note(JobChange change);  // a line of history
};

}  // namespace railweave::control
