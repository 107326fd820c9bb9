// A job as `squeue` tells it. Fields have fixed widths and not separators, and records are told apart by their length and not
// by line ends, because users choose names and comments.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/error.h"

namespace railweave::slurm {

// What Slurm would hold its nodes to.
struct NodeRequirements {
  std::string partition;  // several: with commas
  std::string features, licenses, reservation;
  unsigned cpus = 0;  // of the whole job, at least
  std::uint64_t memory_mb = 0;
  bool memory_per_cpu = false;               // else of each node
  unsigned least_nodes = 0, most_nodes = 0;  // 0: not known
  std::uint64_t gpus_per_node = 0;           // where it asks for GPUs by node; else 0
  std::string gpu_type;                      // "h100"; "": any
  friend bool operator==(const NodeRequirements&, const NodeRequirements&) = default;
};

struct SlurmJob {
  std::string id;          // "17", "17_3", "17+1"
  std::string number;      // of its own; of tasks that wait that of their array
  std::string state;       // "PD", "R", "CG", ...
  unsigned restarts = 0;   // how often it was requeued
  unsigned het = 0;        // number of the heterogeneous job that it is part of; 0: of none
  bool exclusive = false;  // shares its nodes with no other job
  bool held = false;       // by its user, or by an administrator
  unsigned nodes = 0;      // that it shall have; 0: not known
  std::uint64_t gpus = 0;  // of the whole job; 0: none, or not known
  std::string name, account, qos;
  NodeRequirements needs;
  std::int64_t time_limit_s = 0;                 // 0: none
  std::int64_t submitted_s = 0, eligible_s = 0;  // since 1970; 0: not known
  std::int64_t deadline_s = 0;                   // it must have ended by then; 0: none
  std::string reason;
  std::vector<std::string> pinned, running;  // nodes that it must have; that it has
  bool pinned_by_others = false;             // by leaving out all other nodes: its mark says which it must have
  std::string mark;                          // Railweave's part of its AdminComment
  std::string others;                        // what other tools wrote there
  bool is_cut = false;                       // the AdminComment is longer than what is read of it
  std::string comment;

  [[nodiscard]] bool pending() const { return state == "PD"; }
  [[nodiscard]] bool ending() const { return state == "CG"; }
  [[nodiscard]] bool configuring() const { return state == "CF"; }  // PrologSlurmctld runs, or nodes boot
  // -N 2-4, with a number of GPUs on each node.
  [[nodiscard]] bool has_range() const {
    return needs.gpus_per_node > 0 && needs.least_nodes > 0 && needs.least_nodes < needs.most_nodes;
  }
  // It asks for tasks or GPUs and not for nodes: Slurm spreads them over its nodes in any way.
  [[nodiscard]] bool has_any_shape() const {
    return needs.gpus_per_node == 0 && needs.least_nodes > 0 && needs.least_nodes < needs.most_nodes;
  }
  // Held, or waits for another job: no GPUs are held for it meanwhile.
  [[nodiscard]] bool waits_for_itself() const { return held || reason.starts_with("Dependency") || is_over_limit(); }
  // By which scontrol changes it. It refuses ReqNodeList for "17+1", which has a number of its own, and for "17+0" in any way:
  // that one is pinned by leaving out all other nodes.
  [[nodiscard]] bool leads_parts() const { return het != 0 && std::to_string(het) == number; }
  [[nodiscard]] const std::string& target() const { return het == 0 || leads_parts() ? id : number; }
  // Its array's; "" where it is no task of one.
  [[nodiscard]] std::string array() const {
    const std::size_t at = id.find('_');
    return at == std::string::npos ? std::string() : id.substr(0, at);
  }
  [[nodiscard]] bool is_over_limit() const { return reason == "JobArrayTaskLimit"; }
  [[nodiscard]] bool is_pinned() const { return pinned_by_others ? is_placed() : !pinned.empty(); }
  // Its mark says where Railweave placed it.
  [[nodiscard]] bool is_placed() const { return mark.starts_with("railweave: job-"); }
  void set_pinned_by_others();
  // It is not placed any more: what it asks for is not for Railweave to decide.
  [[nodiscard]] bool is_left() const { return mark.starts_with(kLeft); }
  static constexpr std::string_view kLeft = "railweave: left to Slurm";
  // It was marked, and another tool wrote over that.
  void restore_mark(bool left) { mark = left ? kLeft : "railweave:"; }
  // Set by job_submit.lua, and by railweave-slurm.
  [[nodiscard]] bool marked() const { return mark.starts_with("railweave:"); }
  // Whether its mark says that this job of Railweave placed it.
  [[nodiscard]] bool placed_by(std::string_view placement) const {
    const std::string_view words = "railweave: ";
    const std::string_view rest = std::string_view(mark).substr(std::min(mark.size(), words.size()));
    return mark.starts_with(words) && rest.starts_with(placement) && rest.substr(placement.size()).starts_with(" on ");
  }
  // Whether it has the nodes that its mark names. False where the list is longer than what is read of it.
  [[nodiscard]] bool runs_where_marked() const;
  [[nodiscard]] std::vector<std::string> marked_nodes() const;
  // The same for all of its life on one allocation, other after a requeue.
  [[nodiscard]] std::string key() const { return key_of_start(restarts); }
  [[nodiscard]] std::string key_of_start(unsigned start) const { return fmt::format("{}.{}", id, start); }
};

// Of a time limit as Slurm writes it: "1-02:03:04", "02:03:04", "03:04"; 0 for UNLIMITED and what is none.
std::int64_t seconds_of_limit(std::string_view text);

// For `squeue -O`.
std::string squeue_format();

struct SlurmJobs {
  std::vector<SlurmJob> jobs;  // in the order of the text: that of priority
  std::size_t unreadable = 0;  // records
};
// What `squeue -h -r -O squeue_format()` prints with SLURM_TIME_FORMAT=%s. gpus_per_node: of jobs that ask for none by
// GRES, on clusters that declare none; 0: such jobs have no GPUs.
SlurmJobs read_squeue(std::string_view text, std::uint64_t gpus_per_node);

}  // namespace railweave::slurm
