// The cycle of railweave-slurm: one look at Slurm, one at Railweave, and a bounded number of changes. Keeps no state of its
// own but what it has said already; a cycle that fails changes nothing more, and the grace period of the jobs runs out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "services/slurm/placements.h"
#include "services/slurm/plan.h"
#include "services/slurm/slurm_cluster.h"

namespace railweave::slurm {

struct OperatorOptions {
  std::int64_t grace_s = 120;     // jobs begin by themselves that long after the last look at them
  std::int64_t patience_s = 60;   // a job that is pinned and has not begun is placed again
  std::int64_t pass_s = 3600;     // after waiting for that long, no job of lower priority passes
  std::size_t most_placed = 100;  // requests of a cycle
};

// What a cycle did.
struct CycleReport {
  std::size_t jobs = 0, placed = 0, waiting = 0, ended = 0, adopted = 0, repinned = 0, left = 0;
};

class Operator {
 public:
  using Say = std::function<void(const std::string&)>;
  Operator(SlurmCluster& slurm, Placements& placements, OperatorOptions options, Say say)
      : slurm_(slurm), placements_(placements), options_(options), say_(std::move(say)) {}

  // Throws cli::CommandFailure when Railweave or Slurm does not answer.
  CycleReport cycle(std::int64_t now_s);

 private:
  void end(const Plan& plan, CycleReport& report);
  void adopt(const Plan& plan, const Situation& situation, CycleReport& report);
  void repin(const Plan& plan, const Situation& situation, CycleReport& report);
  void place(const Plan& plan, const Situation& situation, CycleReport& report);
  void leave(const Plan& plan, CycleReport& report);
  void pin(const SlurmJob& job, const Placed& placed);
  // Says where it is placed, and what its tasks need. remark: for people.
  std::string placed_mark(const Placed& placed, const std::string& remark);
  // Shows reasons that have changed, a bounded number of them, and moves times on.
  void keep_waiting(const std::map<std::string, std::vector<const SlurmJob*>>& reasons, std::int64_t now_s);
  void update(const std::string& job, const std::vector<std::string>& changes);
  void say_once(const std::string& line);

  SlurmCluster& slurm_;
  Placements& placements_;
  const OperatorOptions options_;
  const Say say_;
  std::set<std::string> said_;
};

}  // namespace railweave::slurm
