// What a cycle of railweave-slurm does, from what Slurm and Railweave say. Pure: the same lists give the same plan, so what
// was begun before a restart is finished after it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/slurm/slurm_job.h"

namespace railweave::slurm {

struct Situation {
  const std::vector<SlurmJob>* jobs = nullptr;    // by priority
  std::map<std::string, std::string> placements;  // key of a job of Slurm -> the job of Railweave that holds its GPUs
  std::vector<std::string> unavailable;           // nodes that are down or drained, sorted
  std::int64_t now_s = 0;
  std::int64_t patience_s = 0;  // how long a pinned job may wait for its nodes
};

// Pointers into the situation's jobs.
struct Plan {
  std::vector<std::string> end;         // placements whose job has ended or was requeued
  std::vector<const SlurmJob*> verify;  // runs, but Slurm does not say where it was placed: perhaps it began by itself
  std::vector<const SlurmJob*> adopt;   // runs on GPUs that no placement holds
  std::vector<const SlurmJob*> repin;   // cannot begin where it is pinned
  std::vector<const SlurmJob*> pin;     // placed, but not pinned yet
  std::vector<const SlurmJob*> place;   // by priority
  std::vector<const SlurmJob*> leave;   // marked, but of a kind that Slurm places itself
};

Plan make_plan(const Situation& situation);

}  // namespace railweave::slurm
