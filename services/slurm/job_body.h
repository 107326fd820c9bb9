// What Railweave is asked for a job of Slurm. Users say more in the job's comment:
//
//   sbatch --comment "railweave: tp=8 pp=2 guarantee=100 class=all-reduce level=nvlinkDomain"
#pragma once

#include <span>
#include <string>

#include "services/railweave/terminal/json.h"
#include "services/slurm/slurm_job.h"

namespace railweave::slurm {

struct Owner {
  std::string cluster;  // Slurm's name of itself
  std::string tenant;   // of jobs without an account
};

// "slurm/CLUSTER/17_3.0", by which Railweave's list of jobs names the job.
std::string placement_name(const std::string& cluster, const SlurmJob& job);
// The key() of the job that a placement's name is of; "": of no job of this cluster.
std::string key_of_placement(const std::string& cluster, const std::string& name);

// only: the nodes that it runs on; empty: any but `excluded`. The error is a reason to show.
Result<cli::Json> job_body(const Owner& owner, const SlurmJob& job, std::span<const std::string> only,
                           std::span<const std::string> excluded);

}  // namespace railweave::slurm
