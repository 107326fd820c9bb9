// What the environments of jobs tell NCCL: dumps of `env` and of /proc/PID/environ, `export -p`, scripts of batch jobs,
// nccl.conf, and the containers of pods.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/railweave/assess/running_jobs.h"
#include "services/railweave/site/site_files.h"

namespace railweave::cli {

struct JobEnvironment {
  std::string job;                               // "job 7", "ml/big"; of a file that names no job the file
  std::string command;                           // that shows the variables again
  std::vector<std::string> hosts;                // empty: not told, so of any host
  std::size_t host_count = 0;                    // of the whole job; 0: not told
  std::uint32_t gpus_per_host = 0;               // 0: not told
  bool whole = false;                            // of a process, so that what it lacks is not set
  std::map<std::string, std::string> variables;  // NCCL_*, those with known values
  std::vector<std::string> unknown;              // NCCL_* whose values are made elsewhere

  // Empty where it is not set.
  [[nodiscard]] std::string value(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const { return variables.contains(name); }
  [[nodiscard]] bool knows(const std::string& name) const;  // set, or known not to be set
};

// One environment for each file; of pods one for each job and each different one in it. Throws CommandFailure.
void read_environment(const SiteFile& file, JobList<JobEnvironment>& environments);
void read_pod_environments(const SiteFile& file, JobList<JobEnvironment>& environments);

// Environments of a job that is known get its hosts and GPUs where they tell none.
void join_running(const std::vector<RunningJob>& running, std::vector<JobEnvironment>& environments);

}  // namespace railweave::cli
