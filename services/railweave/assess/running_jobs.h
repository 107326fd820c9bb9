// Jobs that run now, as `squeue --json` or `kubectl get pods -o json` tell of them, and jobs that ran, as sacct and pods that have
// ended do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/railweave/site/site_files.h"
#include "services/railweave/terminal/json.h"

namespace railweave::cli {

struct RunningJob {
  std::string id, name, user;
  std::vector<std::string> hosts;  // in the order of its ranks, as far as that is known
  std::uint32_t gpus = 0;          // of all its hosts; 0: not told
  bool order_known = false;
};

struct PastJob {
  std::string id, user;
  std::int64_t submitted_s = 0, started_s = 0, ended_s = 0;
  std::uint32_t gpus = 0, nodes = 0;
  std::vector<std::string> hosts;
};

// What was read, and rows that could not be used: "squeue.json: job 7: ...".
template <class Job>
struct JobList {
  std::vector<Job> jobs;
  std::vector<std::string> left_out;
  std::size_t left_out_count = 0;

  void leave_out(std::string what) {
    constexpr std::size_t kMaxNamed = 100;
    if (++left_out_count <= kMaxNamed) left_out.push_back(std::move(what));
  }
};

// Throws CommandFailure where the file cannot be read as what it was recognised as.
void read_slurm_jobs(const SiteFile& file, JobList<RunningJob>& list);
void read_pods(const SiteFile& file, JobList<RunningJob>& list);
void read_ended_pods(const SiteFile& file, JobList<PastJob>& past);
void read_accounting(const SiteFile& file, JobList<PastJob>& list);

// "billing=128,cpu=128,gres/gpu=16,gres/gpu:h100=16,node=2" -> 16.
std::uint32_t gpus_of_tres(const std::string& tres);

}  // namespace railweave::cli
