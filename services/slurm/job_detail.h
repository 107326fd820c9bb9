// What Slurm says of one job that its lists do not: `scontrol -d show job`. Users choose parts of that text, so what it says of
// GPUs counts only where it agrees with the list of nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/slurm/slurm_job.h"

namespace railweave::slurm {

// Consecutive ranks on a node, one for each GPU.
struct RankRun {
  std::string node;
  std::vector<unsigned> gpus;
  bool operator==(const RankRun&) const = default;
};

struct JobDetail {
  bool requeues = false;      // else it can only be cancelled
  std::vector<RankRun> gpus;  // by node, as Slurm gave them; empty: it does not say which
  std::string mark;           // its whole AdminComment
};

JobDetail read_job_detail(std::string_view text);

// Where a job runs already.
struct Running {
  std::vector<std::string> nodes;
  std::vector<RankRun> ranks;  // in the order of ranks; empty: which GPUs is not known
};
// Ranks are in the order that its mark says, where it was placed by Railweave there, and else in Slurm's own.
Running running_of(const SlurmJob& job, const JobDetail& detail);

}  // namespace railweave::slurm
