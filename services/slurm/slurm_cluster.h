// Slurm through its own commands, whose options are stable where its libraries are not. Needs a Slurm operator's rights.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "services/slurm/blocks.h"
#include "services/slurm/eligibility.h"
#include "services/slurm/job_detail.h"
#include "services/slurm/slurm_job.h"

namespace railweave::slurm {

struct SlurmSettings {
  std::string name;            // of the cluster
  bool preempts = false;       // PreemptType
  bool counts_memory = false;  // SelectTypeParameters has memory
  bool tracks_gpus = false;    // AccountingStorageTRES has gres/gpu: lists of jobs say how many each has
};

struct SlurmNodeState {
  std::string name;
  std::string state;   // "idle", "draining", "down*"
  std::string reason;  // "none" where there is none
};

class SlurmCluster {
 public:
  SlurmCluster(std::chrono::milliseconds timeout, std::uint64_t gpus_per_node)
      : timeout_(timeout), gpus_per_node_(gpus_per_node) {}

  Result<SlurmSettings> settings();
  // All jobs that wait, run or end, by priority.
  Result<SlurmJobs> jobs();
  // One job, by its number; none: Slurm does not know it any more.
  Result<std::optional<SlurmJob>> job(const std::string& number);
  Result<std::vector<SlurmNode>> nodes();
  Result<std::vector<SlurmWindow>> reservations();
  Result<std::vector<SlurmPartition>> partitions();
  // Without their level.
  Result<Blocks> blocks();
  Result<JobDetail> detail(const std::string& job);
  Result<std::vector<SlurmNodeState>> node_states();
  // state: "DRAIN" or "RESUME".
  Result<void> set_node(const std::string& node, const std::string& state, const std::string& reason);
  // `scontrol update` of one job: "StartTime=now", "AdminComment=...".
  Result<void> update(const std::string& job, const std::vector<std::string>& changes);
  // Ends its processes; it waits again. Only of jobs that may be requeued.
  Result<void> requeue(const std::string& job);
  Result<void> cancel(const std::string& job);
  Result<void> signal(const std::string& job, const std::string& signal);
  // Moves the times of many jobs on, about a thousand with one command.
  Result<void> delay(std::span<const std::string> jobs, std::int64_t seconds);

  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  Result<void> order(const std::vector<std::string>& arguments, const std::string& input = {});
  Result<std::string> run(const std::vector<std::string>& arguments, const std::string& input = {});

  const std::chrono::milliseconds timeout_;
  const std::uint64_t gpus_per_node_;
  std::uint64_t calls_ = 0;
};

}  // namespace railweave::slurm
