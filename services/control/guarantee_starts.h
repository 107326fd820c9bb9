// What jobs would be guaranteed that start one after the other, before any of it is an event: for a cycle of the queue,
// which asks for every start it is about to make. Costs nothing until one of them is to be guaranteed anything.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "services/control/admitted_placement.h"

namespace railweave::control {

class GuaranteeStarts {
 public:
  // Borrows both.
  GuaranteeStarts(const ClusterState& state, GuaranteeBook& book) : state_(state), book_(book) {}

  // "": the job may start there once those are gone, and counts as started; else why not, and nothing changed.
  std::string start(JobId job, const scheduler::JobSpec& spec, const scheduler::Placement& placement,
                    std::span<const JobId> evicted);

  // Of a job that may start: what its JobPlaced is to carry; none: best effort.
  [[nodiscard]] std::optional<JobGuarantee> granted(JobId job) const;

 private:
  const ClusterState& state_;
  GuaranteeBook& book_;
  std::optional<fabric::Ledger> ledger_;  // with what was granted since, without who is evicted
  std::map<JobId, JobGuarantee> granted_;
};

}  // namespace railweave::control
