// The cycle of railweave-slurm: one look at Slurm, one at Railweave, and a bounded number of changes. Keeps no state of its
// own but what it has said already; a cycle that fails changes nothing more, and the grace period of the jobs runs out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/slurm/control_step.h"
#include "services/slurm/placements.h"
#include "services/slurm/plan.h"
#include "services/slurm/slurm_cluster.h"

namespace railweave::slurm {

struct OperatorOptions {
  Steps steps;
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
  bool nodes_are_back = false;  // Slurm has taken some into use since the cycle before
};

class Operator {
 public:
  using Say = std::function<void(const std::string&)>;
  Operator(SlurmCluster& slurm, Placements& placements, SlurmSettings settings, OperatorOptions options, Say say)
      : slurm_(slurm),
        placements_(placements),
        settings_(std::move(settings)),
        options_(std::move(options)),
        say_(std::move(say)) {}

  // Throws cli::CommandFailure when Railweave or Slurm does not answer.
  CycleReport cycle(std::int64_t now_s);
  // Says so of jobs that wait, as nothing places them now; their times are left alone.
  void say_away();

 private:
  void end(const Plan& plan, CycleReport& report);
  // Nodes of jobs that are not held are left out of requests: they become unavailable.
  void adopt(const Plan& plan, Situation& situation, CycleReport& report);
  void evict(const Plan& plan, const Situation& situation, CycleReport& report);
  // A job that has moved is requeued, and what is held for it has the name of its first start: it is this start's.
  void follow_moves(const std::vector<SlurmJob>& jobs, Placements::Active& active);
  void follow(const SlurmJob& job, const std::string& key, std::map<std::string, Held>& placements);
  // Accepts other places for running jobs that say that they can be requeued.
  void answer_moves(const Situation& situation);
  void repin(const Plan& plan, const Situation& situation, CycleReport& report);
  void place(const Plan& plan, const Situation& situation, CycleReport& report);
  using Reasons = std::map<std::string, std::vector<const SlurmJob*>>;
  // Asks for these and pins them. The answer is the one that none passes any more; null: there is none.
  const SlurmJob* ask(std::span<const SlurmJob* const> jobs, const Situation& situation, Reasons& reasons,
                      CycleReport& report);
  [[nodiscard]] bool is_overdue(const SlurmJob& job, std::int64_t now_s) const;
  void read_blocks(std::int64_t now_s);
  void read_rules(std::int64_t now_s);
  // Says of running jobs how many GPUs they have where lists of jobs do not.
  void count_gpus(std::vector<SlurmJob>& jobs);
  // Of jobs that ask for GPUs and not for nodes: as few as have them. Of jobs with a range: as many as are free.
  void count_nodes(std::vector<SlurmJob>& jobs, const Situation& situation) const;
  // Nodes on which jobs begin now, those that are down or used by what is not known left out.
  void read_nodes(Situation& situation, CycleReport& report);
  // Whose nodes follow from more than nodes is left to Slurm.
  void leave_to_slurm(Plan& plan) const;
  // All parts of a heterogeneous job are at one step.
  void read_steps(const std::vector<SlurmJob>& jobs);
  [[nodiscard]] Step step_of(const SlurmJob& job) const;
  // Before the step `place`: what is marked or pinned is given back to Slurm, and nothing has to leave.
  void hold_back(Plan& plan);
  // Where Railweave would have placed jobs that Slurm has just begun, before that step.
  void advise(const Situation& situation, std::vector<Placements::Ask>& asks);
  // The nodes of jobs that ask for the same of them.
  struct OwnChoice {
    const SlurmJob* alike;
    std::vector<std::string> excluded, allowed;
    [[nodiscard]] bool is_for(const SlurmJob& job) const;
  };
  [[nodiscard]] OwnChoice choice_of(const SlurmJob& job, const Situation& situation) const;
  void judge(const SlurmJob& job, const Situation& situation, Placed& placed) const;
  // On other numbers of GPUs on other numbers of nodes.
  [[nodiscard]] bool fits_in_any_shape(const SlurmJob& job, const Situation& situation) const;
  // A job that waits may take the GPUs of jobs that run by Slurm's own preemption.
  [[nodiscard]] bool may_preempt(const SlurmJob& job, const Situation& situation) const;
  // Why a job, or the parts of one, is left to Slurm; "": it is not.
  [[nodiscard]] std::string why_left(std::span<const Placed> parts, bool all_placed) const;
  // held: what holds its GPUs; null: nothing.
  void leave(const SlurmJob& job, const Held* held, const std::string& why, CycleReport& report);
  // False: it was not accepted in time, or Slurm does not take it.
  bool pin(const SlurmJob& job, const Placed& placed);
  // Says where it is placed, and what its tasks need. remark: for people.
  std::string placed_mark(const SlurmJob& job, const Placed& placed, const std::string& remark);
  // Shows reasons that have changed, a bounded number of them, and moves times on.
  void keep_waiting(const Reasons& reasons, std::int64_t now_s);
  // By leaving out all others, and not by naming those that it must have.
  [[nodiscard]] bool pins_by_others(const SlurmJob& job) const;
  // Of scontrol. nodes: sorted; empty: it may begin anywhere.
  [[nodiscard]] std::string pin_text(const SlurmJob& job, const std::vector<std::string>& nodes) const;
  bool update(const SlurmJob& job, std::vector<std::string> changes, std::string_view mark);
  // Of scontrol: the mark beside what other tools wrote.
  std::string mark_text(const SlurmJob& job, std::string_view mark);
  // Marks that other tools wrote over are known as long as the job waits.
  void restore_marks(std::vector<SlurmJob>& jobs);
  void say_once(const std::string& line);

  SlurmCluster& slurm_;
  Placements& placements_;
  const SlurmSettings settings_;
  const OperatorOptions options_;
  const Say say_;
  std::vector<std::string> all_nodes_;  // as of this cycle, sorted
  std::set<std::string> out_of_use_;    // nodes, as of this cycle
  Eligibility eligibility_;             // as of this cycle
  std::vector<SlurmWindow> windows_;
  std::vector<SlurmPartition> partitions_;
  std::map<std::string, std::uint64_t> fabric_nodes_;
  std::int64_t rules_due_s_ = 0;
  std::map<std::string, std::uint64_t> gpus_;                // by key, of running jobs, where lists do not say
  std::map<std::string, std::vector<std::string>> refused_;  // by job: nodes on which it did not begin
  Blocks blocks_;
  std::int64_t blocks_due_s_ = 0;
  std::map<unsigned, Step> step_of_parts_;  // of heterogeneous jobs, as of this cycle
  std::map<std::string, bool> marked_;      // by key, of jobs that wait: whether it is left to Slurm
  std::set<std::string> said_;
};

}  // namespace railweave::slurm
