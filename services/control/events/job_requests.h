// Requests about jobs for Command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/message.h"
#include "services/control/state/job_id.h"

namespace railweave::control {

// GPUs by node, in rank order. Local indices; none: all of the node.
struct AdoptedPlace {
  struct Run {
    std::string node;
    std::optional<std::vector<std::uint32_t>> gpus;
  };
  std::vector<Run> runs;
};

// What running jobs are to move for.
struct MoveTarget {
  enum class For : std::uint8_t {
    head,     // the first job that waits for GPUs, or for a better place
    job,      // this one
    domains,  // NVLink domains that come free as a whole
  };
  For what = For::head;
  JobId job;
  std::size_t most_steps = 16;  // domains
};

// Changes what is given.
struct ChangeJob {
  JobId id;
  std::optional<std::string> priority;
  std::optional<bool> hold;
  std::optional<std::int64_t> not_before_us;  // 0: at any time
  // Inner none: not given any more.
  std::optional<std::optional<std::int64_t>> expected_duration_s, min_runtime_s;
  std::optional<std::vector<std::string>> exclude_nodes;
  struct Beside {
    JobId job;
    bool before = true;  // else after
  };
  std::optional<Beside> beside;
  std::string reason;
  bool by_member = false;  // else by an operator, who may do more
  std::optional<std::uint64_t> if_version;
};

// A job's report: one rank of it says for all how long its steps took since the last report.
struct ReportSteps {
  JobId id;
  std::uint64_t steps = 0;
  double seconds = 0;
  std::string workload;  // "": as before, else the job's name
  Message on_path;       // what is known of its path by whoever asks; kept where the job becomes slow by this
};

}  // namespace railweave::control
