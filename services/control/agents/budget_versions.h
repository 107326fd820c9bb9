// The version of each host's budgets: the number of the event since which they are as they are, as far as this process has
// watched. It grows with each change, and within a term it never names two different budgets. Derived from states and not
// durable: after a restart a host's version may be larger than before although nothing changed, never smaller.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

class BudgetVersions {
 public:
  // States in any order; older ones than the newest change nothing. O(jobs with a guarantee), and of those that changed O(GPUs).
  void bring_to(const ClusterState& state);

  [[nodiscard]] std::uint64_t version_of(fabric::HostId host) const;
  [[nodiscard]] std::vector<JobId> jobs_on(fabric::HostId host) const;  // with a guarantee, ascending
  // Where the job's ranks are; empty: it has no guarantee.
  [[nodiscard]] std::span<const fabric::HostId> hosts_of(JobId job) const;

 private:
  struct Known {
    JobPtr job;
    std::vector<fabric::HostId> hosts;  // ascending
  };
  void put(JobId id, JobPtr job, std::uint64_t seq);
  void remove(JobId id, std::uint64_t seq);

  std::uint64_t seq_ = 0;
  std::uint64_t since_ = 0;  // the version of hosts that have no own
  fabric::TopologyPtr topology_;
  std::shared_ptr<const fabric::QosClasses> classes_;
  std::shared_ptr<const SubnetPolicyTable> modes_;  // where lanes of jobs' own are used follows from modes
  std::map<JobId, Known> known_;
  std::map<fabric::HostId, std::set<JobId>> jobs_;
  std::map<fabric::HostId, std::uint64_t> versions_;
};

}  // namespace railweave::control
