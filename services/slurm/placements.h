// Railweave's side of a job of Slurm: the job that holds its GPUs. Every failure to answer throws cli::CommandFailure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/railweave/connection/service.h"
#include "services/slurm/blocks.h"
#include "services/slurm/control_step.h"
#include "services/slurm/job_body.h"
#include "services/slurm/plan.h"
#include "services/slurm/ranks/rank_text.h"

namespace railweave::slurm {

struct Placed {
  std::string id;                  // "job-000012"; "": not placed
  std::vector<std::string> nodes;  // in the order of their first ranks
  std::string reason;              // why it is not
  bool gave_up = false;            // it is for Slurm to place, by the reason
};

// Why a placement is to be given back, and until when its job may stay.
struct Leave {
  bool to_queue = false;     // evicted; else it was ended by hand
  std::int64_t at_s = 0;     // since 1970
  std::string in_favour_of;  // "job-000007"; "" for none
};

struct Advice {
  std::string text;  // in words; "": there is none
  // Of the communication predicted for a step, what that place would have spared; none: it is not known.
  std::optional<std::uint32_t> gain_permille = {};
};

// As Railweave shows it: another place is held for it, and its GPUs are being freed.
bool is_moving(const cli::Json& job);

class Placements {
 public:
  Placements(cli::Service& service, Owner owner) : service_(service), owner_(std::move(owner)) {}

  // Key of a job of Slurm -> the job that holds its GPUs. Where two were made for one, `doubles` has the other.
  struct Active {
    std::map<std::string, Held> by_key;
    std::vector<Held> doubles;
  };
  Active active();
  // Asking again for a job that was placed answers the same placement. All in one request, in that order, as long as it is
  // no larger than the service takes.
  struct Ask {
    const SlurmJob* job;
    Step step = Step::place;
    const Running* running = nullptr;  // where it runs already; null: it waits
    NodeChoice choice = {};
    Advice advice = {};  // kept with the job
  };
  // About a job that runs and is not known to Railweave yet: where it would have been placed among the nodes of the choice.
  Advice advice(const SlurmJob& job, const NodeChoice& choice);
  // blocks: that Slurm has; null: jobs are where they are.
  std::vector<Placed> place(std::span<const Ask> asks, const Blocks* blocks);
  // GPUs of the fabric's nodes, by name.
  std::map<std::string, std::uint64_t> fabric_nodes();
  // Whose groups are the blocks of the exported topology.
  std::string block_level();
  std::vector<std::string> nodes(const std::string& id);
  // What its tasks need. An answer that is not as expected leaves the nodes alone.
  JobRanks ranks(const Placed& placed);
  // Says that its job starts now: no other job has these GPUs. False: the offer is over.
  bool accept(const std::string& id);
  void running(const std::string& id);
  // Its job ends; it holds its GPUs until end().
  void release(const std::string& id, const std::string& reason);
  // Slurm has left its nodes, or never began.
  void end(const Held& held, const std::string& reason);
  // Jobs that are offered another place, which wait for an answer.
  std::vector<std::string> offered_moves();
  void answer_move(const std::string& id, bool accept);
  // It makes way for a move, and its new place is held for it.
  bool is_moving(const std::string& id);
  // Slurm has left its nodes, and it goes on: the phase in which it is now; none: it has no place.
  std::optional<Held::Phase> freed(const std::string& id);
  // It has moved, and has not run at its new place.
  bool starts_again(const std::string& id);
  // none: it is not to be given back any more.
  std::optional<Leave> leave(const std::string& id);

  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  struct Open;
  void submit(std::span<Open> batch, int attempt, std::vector<Placed>& placed);
  // False where the job is not in the state for it.
  bool say(const cli::Target& target, api::Method method = api::Method::post);

  cli::Service& service_;
  const Owner owner_;
  std::uint64_t calls_ = 0;
};

}  // namespace railweave::slurm
