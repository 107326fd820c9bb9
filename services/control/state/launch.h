// A job whose processes another scheduler starts and ends, such as Slurm or Kubernetes: its GPUs are offered, and pass on
// only when the launcher has said that they are free. Each phase but running has a deadline.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/message.h"
#include "services/control/state/job_id.h"
#include "services/control/state/job_state.h"

namespace railweave::control {

// What its launcher asked for, when it submitted the job.
struct LaunchTerms {
  std::int64_t accept_us = 120'000'000;   // how long an offer stands
  std::int64_t run_us = 1'800'000'000;    // from accepted to running
  std::int64_t notice_us = 60'000'000;    // before an eviction, in addition to the next one
  std::int64_t release_us = 600'000'000;  // how long the launcher may take to free the GPUs
  // It saves its state and its launcher starts it again from there: it may be offered a move (move.h).
  bool checkpointable = false;
  friend bool operator==(const LaunchTerms&, const LaunchTerms&) = default;
};
// The least and the most of each time.
constexpr std::int64_t kLeastLaunchTime_us = 1'000'000, kMaxLaunchTime_us = 7LL * 24 * 3600 * 1'000'000;

enum class LaunchPhase : std::uint8_t {
  offered,    // GPUs are held for it; its launcher has not answered
  accepted,   // the launcher starts its processes
  running,    // its processes run
  releasing,  // it ends or was evicted; its GPUs are held until they are free
};
BOOST_DESCRIBE_ENUM(LaunchPhase, offered, accepted, running, releasing)
constexpr std::string_view to_string(LaunchPhase phase) { return to_text(phase); }

struct Launch {
  LaunchTerms terms;
  bool requeues = true;  // submitted to the queue: an offer that is not accepted goes back there, else the job ends
  // Of a placed job:
  LaunchPhase phase = LaunchPhase::offered;
  std::int64_t deadline_us = 0;  // of the phase; 0: none, or over and said so
  bool overdue = false;          // releasing, and its deadline is over
  std::uint64_t expired = 0;     // offers that were not accepted
  // While releasing: what it becomes, for which job it was evicted (0: none), and the nodes that are free.
  JobState becomes = JobState::queued;
  JobId in_favour_of;
  double lost_gpu_s = 0;
  Message reason;
  std::vector<std::string> freed;
  // GPUs ("node-7:3") that its ranks left by a repair and where processes of theirs may still run. Running or accepted: its
  // deadline, or the next one, is theirs.
  std::vector<std::string> left;

  void enter(LaunchPhase next, std::int64_t now_us);  // with the deadline of that phase
  friend bool operator==(const Launch&, const Launch&) = default;
};

// By "node-7:3": given to no job until the launcher of that one has freed them.
using LeftGpus = std::set<std::pair<std::string, JobId>>;

// Those that left this GPU, or GPUs of this node.
std::set<JobId> jobs_that_left(const LeftGpus& left, const std::string& gpu_or_node);

}  // namespace railweave::control
