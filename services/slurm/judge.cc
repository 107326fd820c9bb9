// What is for Slurm to decide although Railweave has an answer, or none.
#include <algorithm>

#include "services/slurm/operator.h"

namespace railweave::slurm {

bool Operator::may_preempt(const SlurmJob& job, const Situation& situation) const {
  if (!settings_.preempts) return false;
  const unsigned tier = eligibility_.tier(job);
  return std::ranges::any_of(*situation.jobs, [&](const SlurmJob& other) {
    return !other.pending() && other.gpus > 0 && (eligibility_.tier(other) < tier || other.qos != job.qos);
  });
}

bool Operator::fits_in_any_shape(const SlurmJob& job, const Situation& situation) const {
  SlurmJob anyhow = job;
  anyhow.gpus = 0;  // on each node
  return eligibility_.gpus_free(choice_of(anyhow, situation).allowed) >= job.gpus;
}

// What Slurm has refused once is not tried again unchanged, and what Slurm may do for the job itself is not held up.
void Operator::judge(const SlurmJob& job, const Situation& situation, Placed& placed) const {
  if (placed.gave_up) return;
  if (placed.id.empty()) {
    if (may_preempt(job, situation)) {
      placed.gave_up = true;
      placed.reason = "Slurm may preempt other jobs for it";
    } else if (job.has_any_shape() && fits_in_any_shape(job, situation)) {
      placed.gave_up = true;
      placed.reason = "its GPUs are free on other numbers of nodes";
    }
    return;
  }
  const auto refused = refused_.find(job.key());
  auto nodes = placed.nodes;
  std::ranges::sort(nodes);
  placed.gave_up = refused != refused_.end() && refused->second == nodes;
  if (placed.gave_up) placed.reason = "it did not begin on the nodes that Railweave chose, and there are no others";
}

}  // namespace railweave::slurm
