// What Slurm's prolog and epilog run, in processes of their own: before the first rank of a job starts, its placement is held and
// its class, partition and keys are on the ports; when a node has cleared a job, Railweave knows. Neither ever fails a job.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/railweave/connection/service.h"
#include "services/slurm/slurm_cluster.h"
#include "services/slurm/slurm_job.h"

namespace railweave::slurm {

// From the environment that Slurm gives its scripts.
struct HookJob {
  std::string cluster;
  std::string number;              // "17": of array tasks their own
  unsigned restarts = 0;           // of a job that ends to start again: with the next one already
  std::vector<std::string> nodes;  // of the whole job
  std::string node;                // that the script runs on; "" in slurmctld
  bool has_gpus = false;           // on that node
};
HookJob read_hook_job(const std::function<const char*(const char* name)>& environment);

class Hooks {
 public:
  using Say = std::function<void(const std::string&)>;
  Hooks(SlurmCluster& slurm, cli::Service& service, Say say) : slurm_(slurm), service_(service), say_(std::move(say)) {}

  // PrologSlurmctld: returns when Railweave holds the job where it is about to run and its own ports have what belongs to them,
  // whatever others wait for; or after that time, and says then what was missing.
  void prolog(const HookJob& job, double within_s);
  // Epilog, on a node: no process of the job is left there.
  void epilog(const HookJob& job);

 private:
  // What is still missing; "": nothing.
  std::string missing(const HookJob& job, const SlurmJob& known);

  SlurmCluster& slurm_;
  cli::Service& service_;
  const Say say_;
  std::string held_;  // the job of Railweave that holds it where it is about to run; "": none was seen
};

}  // namespace railweave::slurm
