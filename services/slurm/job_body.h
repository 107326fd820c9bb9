// What Railweave is asked for a job of Slurm. Users say more in the job's comment:
//
//   sbatch --comment "railweave: tp=8 pp=2 guarantee=100 class=all-reduce level=nvlinkDomain"
#pragma once

#include <span>
#include <string>

#include "services/railweave/terminal/json.h"
#include "services/slurm/job_detail.h"
#include "services/slurm/slurm_job.h"

namespace railweave::slurm {

struct Owner {
  std::string cluster;  // Slurm's name of itself
  std::string tenant;   // of jobs without an account
  // How long an offer stands that is not accepted, a job may stay that has to leave, and Slurm may take to clear its nodes.
  std::int64_t accept_s = 120, notice_s = 60, release_s = 600;
};

// "slurm/CLUSTER/17_3.0", by which Railweave's list of jobs names the job with that key().
std::string placement_name(const std::string& cluster, const std::string& key);
// The key() of the job that a placement's name is of; "": of no job of this cluster.
std::string key_of_placement(const std::string& cluster, const std::string& name);

// Its comment says that it goes on from what it saved when it is requeued: "railweave: checkpointable".
bool is_checkpointable(const SlurmJob& job);

// The nodes that a job may not have, and those that it may; both sorted. Borrowed.
struct NodeChoice {
  std::span<const std::string> excluded, allowed;
};

// running: where it is taken over; null: it is to be placed on the nodes of the choice. The error is a reason to show.
Result<cli::Json> job_body(const Owner& owner, const SlurmJob& job, const Running* running, const NodeChoice& choice);

}  // namespace railweave::slurm
