// A job: queued, placed, or ended and kept for some time (ClusterState::kMaxEndedJobs). Immutable once it is in a
// state; ids of GPUs are those of the topology of that state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/message.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement.h"
#include "services/control/state/adoption.h"
#include "services/control/state/job_guarantee.h"
#include "services/control/state/job_id.h"
#include "services/control/state/job_state.h"
#include "services/control/state/launch.h"
#include "services/control/state/move.h"
#include "services/control/state/queue_terms.h"

namespace railweave::control {

struct JobChange {  // one line of its history
  std::int64_t time_us = 0;
  std::uint64_t seq = 0;
  JobState state = JobState::placed;
  Message reason;
  std::string actor;
};

struct Job {
  static constexpr std::size_t kMaxHistory = 100;  // lines; beyond them the first ten and the newest are kept

  JobId id;
  scheduler::JobSpec spec;
  JobState state = JobState::placed;
  std::int64_t submitted_us = 0;   // unchanged by an eviction, so that the job keeps its place in the queue
  std::int64_t not_before_us = 0;  // earliest start that was requested
  std::int64_t started_us = 0;     // 0: not started, or queued again
  std::int64_t saved_us = 0;       // its last reported checkpoint since the start; 0: none
  std::int64_t ended_us = 0;       // 0: has not ended
  std::string idempotency_key;
  std::string key_owner;           // OwnedKey::owner
  std::string request_digest;      // of the request that came with the key
  scheduler::Placement placement;  // ids of the topology of the state it is in
  std::vector<std::string> nodes;  // names, by first rank; valid beyond the topology
  std::string waits;               // why it waits, as last recorded in its history: text of a WaitCode
  Message damage;                  // empty: none; else which GPUs are lost, and what to do
  std::int64_t damaged_us = 0;     // since when; 0: not damaged
  // GPUs of its ranks ("node-7:3") that were declared lost and for which there was no spare; lost for as long as they are
  // drained, whatever their links say.
  std::vector<std::string> lost;
  std::vector<JobChange> history;
  QueueTerms queue;                       // while it waits
  std::optional<Adoption> adopted;        // none: Railweave chose its GPUs
  std::optional<JobGuarantee> guarantee;  // network bandwidth; none: best effort
  // Service levels, a bit each, that its ranks may have been started with and that are not what they would be told now: its
  // class, its lane or the classes have changed since (service_levels.h).
  std::uint16_t earlier_levels = 0;
  std::optional<Launch> launch;  // none: it runs from the moment it is placed until it is said to have ended
  std::optional<Move> move;      // offered, or under way: another place is held for it; none: it stays
  std::uint64_t version = 0;     // seq of the event that last changed it: its ETag

  [[nodiscard]] bool holds_gpus() const { return state == JobState::placed; }
  [[nodiscard]] bool has_ended() const { return state > JobState::placed; }
  // It was told to end or to make way, and its GPUs are not free yet.
  [[nodiscard]] bool is_releasing() const { return holds_gpus() && launch && launch->phase == LaunchPhase::releasing; }
  [[nodiscard]] QueuePlace place() const {
    return queue.exchanged == QueuePlace{} ? QueuePlace{submitted_us, id.number()} : queue.exchanged;
  }
  void note(JobChange change);  // appends a line to the history
};

}  // namespace railweave::control
