// What a cycle of the queue asks before it starts a job: can it be given what its tenant was promised on the network,
// beside the guarantees that there are and those given earlier in the cycle?
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "scheduler/queue/cycle/start_gate.h"
#include "services/control/views/guarantee_book.h"

namespace railweave::control {

class GuaranteeGate : public scheduler::StartGate {
 public:
  // Borrows both.
  GuaranteeGate(const ClusterState& state, GuaranteeBook& book) : state_(state), book_(book) {}

  std::string start(const scheduler::QueuedJob& job, const scheduler::Placement& placement,
                    std::span<const scheduler::QueueJobId> evicted) override;

  // Of a job that start() let pass; none: best effort.
  [[nodiscard]] std::optional<JobGuarantee> given(scheduler::QueueJobId job) const;

 private:
  const ClusterState& state_;
  GuaranteeBook& book_;
  std::optional<fabric::Ledger> ledger_;  // once a job asks for something: as it will be after what was started
  std::set<scheduler::QueueJobId> gone_;  // evicted so far
  std::map<scheduler::QueueJobId, JobGuarantee> given_;
  std::set<std::string> domains_counted_;  // tenants with a limit of NVLink domains that started one
};

}  // namespace railweave::control
