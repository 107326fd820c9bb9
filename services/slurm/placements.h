// Railweave's side of a job of Slurm: the job that holds its GPUs. Every failure to answer throws cli::CommandFailure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "services/railweave/connection/service.h"
#include "services/slurm/job_body.h"
#include "services/slurm/ranks/rank_text.h"

namespace railweave::slurm {

struct Placed {
  std::string id;                  // "job-000012"; "": not placed
  std::vector<std::string> nodes;  // in the order of their first ranks
  std::string reason;              // why it is not
};

class Placements {
 public:
  Placements(cli::Service& service, Owner owner) : service_(service), owner_(std::move(owner)) {}

  // Key of a job of Slurm -> the job that holds its GPUs.
  std::map<std::string, std::string> active();
  // Asking again for a job that was placed answers the same placement. All in one request, in that order, as long as it is
  // no larger than the service takes.
  struct Ask {
    const SlurmJob* job;
    std::span<const std::string> only;  // nodes that it runs on already; empty: any
  };
  std::vector<Placed> place(std::span<const Ask> asks, std::span<const std::string> excluded);
  std::vector<std::string> nodes(const std::string& id);
  // What its tasks need. An answer that is not as expected leaves the nodes alone.
  JobRanks ranks(const Placed& placed);
  void end(const std::string& id, const std::string& reason);

  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  struct Open;
  void submit(std::span<Open> batch, int attempt, std::vector<Placed>& placed);

  cli::Service& service_;
  const Owner owner_;
  std::uint64_t calls_ = 0;
};

}  // namespace railweave::slurm
