// Bandwidth admission inside a queue cycle: the cycle asks before it starts a job whether the job's guarantee fits
// beside the existing guarantees and those granted earlier in the cycle. Lives for one cycle; on the control thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "scheduler/queue/cycle/start_gate.h"
#include "services/control/views/guarantee_book.h"
#include "services/control/views/job_reach.h"

namespace railweave::control {

class GuaranteeGate : public scheduler::StartGate {
 public:
  // Borrows all.
  GuaranteeGate(const ClusterState& state, GuaranteeBook& book, const JobReach& reach)
      : state_(state), book_(book), reach_(reach) {}

  // "": the job may start; else why not.
  std::string start(const scheduler::QueuedJob& job, const scheduler::Placement& placement,
                    std::span<const scheduler::QueueJobId> evicted) override;

  // The guarantee of a job that start() accepted; none: best effort.
  [[nodiscard]] std::optional<JobGuarantee> granted(scheduler::QueueJobId job) const;

 private:
  const ClusterState& state_;
  GuaranteeBook& book_;
  const JobReach& reach_;
  std::optional<fabric::Ledger>
      ledger_;  // set by the first job with a guarantee: as it will be after the jobs started so far
  std::set<scheduler::QueueJobId> evicted_;  // by the cycle so far
  std::map<scheduler::QueueJobId, JobGuarantee> granted_;
  std::set<std::string> domains_counted_;  // tenants with a limit of NVLink domains that started a job
};

}  // namespace railweave::control
