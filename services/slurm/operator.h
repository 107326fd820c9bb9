// The cycle of railweave-slurm: one look at Slurm, one at Railweave, and a bounded number of changes. Keeps no state of its
// own but what it has said already; a cycle that fails changes nothing more, and the grace period of the jobs runs out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "services/slurm/placements.h"
#include "services/slurm/plan.h"
#include "services/slurm/slurm_cluster.h"

namespace railweave::slurm {

struct OperatorOptions {
  std::int64_t grace_s = 120;     // jobs begin by themselves that long after the last look at them
  std::int64_t patience_s = 60;   // a job that is pinned and has not begun is placed again
  std::int64_t pass_s = 3600;     // after waiting for that long, no job of lower priority passes
  std::size_t most_placed = 100;  // requests of a cycle
  bool cancel_evicted = false;    // jobs that Railweave evicts are cancelled; else requeued, where Slurm can
  std::string notice_signal;      // that a job is sent which is to leave; "" for none
  std::string block_level;        // whose groups Slurm's blocks are; "": those that the exported topology has
};

// What a cycle did.
struct CycleReport {
  std::size_t jobs = 0, placed = 0, waiting = 0, ended = 0, adopted = 0, repinned = 0, evicted = 0, left = 0;
};

class Operator {
 public:
  using Say = std::function<void(const std::string&)>;
  Operator(SlurmCluster& slurm, Placements& placements, OperatorOptions options, Say say)
      : slurm_(slurm), placements_(placements), options_(std::move(options)), say_(std::move(say)) {}

  // Throws cli::CommandFailure when Railweave or Slurm does not answer.
  CycleReport cycle(std::int64_t now_s);

 private:
  void end(const Plan& plan, CycleReport& report);
  // Nodes of jobs that are not held are left out of requests: they become unavailable.
  void adopt(const Plan& plan, Situation& situation, CycleReport& report);
  void evict(const Plan& plan, const Situation& situation, CycleReport& report);
  void repin(const Plan& plan, const Situation& situation, CycleReport& report);
  void place(const Plan& plan, const Situation& situation, CycleReport& report);
  using Reasons = std::map<std::string, std::vector<const SlurmJob*>>;
  // Asks for these and pins them. The answer is the one that none passes any more; null: there is none.
  const SlurmJob* ask(std::span<const SlurmJob* const> jobs, const Situation& situation, Reasons& reasons,
                      CycleReport& report);
  [[nodiscard]] bool is_overdue(const SlurmJob& job, std::int64_t now_s) const;
  void read_blocks(std::int64_t now_s);
  // held: what holds its GPUs; null: nothing.
  // Of a job, or of the parts of one; "": it is not.
  [[nodiscard]] std::string why_left(std::span<const Placed> parts, bool all_placed) const;
  void leave(const SlurmJob& job, const Held* held, const std::string& why, CycleReport& report);
  // False: it was not accepted in time, or Slurm does not take it.
  bool pin(const SlurmJob& job, const Placed& placed);
  // Says where it is placed, and what its tasks need. remark: for people.
  std::string placed_mark(const Placed& placed, const std::string& remark);
  // Shows reasons that have changed, a bounded number of them, and moves times on.
  void keep_waiting(const Reasons& reasons, std::int64_t now_s);
  // Of scontrol. nodes: sorted; empty: it may begin anywhere.
  [[nodiscard]] std::string pin_text(const SlurmJob& job, const std::vector<std::string>& nodes) const;
  bool update(const std::string& job, const std::vector<std::string>& changes);
  void say_once(const std::string& line);

  SlurmCluster& slurm_;
  Placements& placements_;
  const OperatorOptions options_;
  const Say say_;
  std::vector<std::string> all_nodes_;  // as of this cycle, sorted
  Blocks blocks_;
  std::int64_t blocks_due_s_ = 0;
  std::set<std::string> said_;
};

}  // namespace railweave::slurm
