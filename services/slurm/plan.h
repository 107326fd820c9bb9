// What a cycle of railweave-slurm does, from what Slurm and Railweave say. Pure: the same lists give the same plan, so what
// was begun before a restart is finished after it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/slurm/slurm_job.h"

namespace railweave::slurm {

// A job of Railweave that holds the GPUs of one of Slurm.
struct Held {
  enum class Phase : std::uint8_t { offered, accepted, running, releasing };
  std::string id;  // "job-000012"
  Phase phase = Phase::running;
};

struct Situation {
  const std::vector<SlurmJob>* jobs = nullptr;  // by priority
  std::map<std::string, Held> placements;       // by key of the job of Slurm
  std::vector<std::string> unavailable;         // nodes that are down or drained, or used by what is not known; sorted
  std::int64_t now_s = 0;
  std::int64_t patience_s = 0;  // how long a pinned job may wait for its nodes
  bool has_blocks = false;      // Slurm's topology/block decides with
};

struct Left {
  const SlurmJob* job;
  std::string why;
};

// Pointers into the situation's jobs.
struct Plan {
  std::vector<Held> end;                // their job has left its nodes, or was requeued
  std::vector<Held> release;            // their job ends; Slurm still clears its nodes
  std::vector<const SlurmJob*> verify;  // runs, but Slurm does not say where it was placed: perhaps it began by itself
  std::vector<const SlurmJob*> began;   // runs where it was placed, and Railweave does not know yet
  std::vector<const SlurmJob*> adopt;   // runs on GPUs that no placement holds
  std::vector<const SlurmJob*> evict;   // runs on GPUs that Railweave asks back
  std::vector<const SlurmJob*> repin;   // cannot begin where it is pinned, or shall not
  std::vector<const SlurmJob*> pin;     // placed, but not pinned yet
  std::vector<const SlurmJob*> place;   // by priority, parts of a heterogeneous job together
  std::vector<const SlurmJob*> later;   // waits for something of Slurm's own: held, or for another job
  std::vector<Left> leave;              // marked, but Slurm places it itself
};

// How many tasks of an array run at a time is known once Slurm has refused one more; the task's mark says it from then on.
std::string array_limit_words(std::size_t tasks);

Plan make_plan(const Situation& situation);

}  // namespace railweave::slurm
