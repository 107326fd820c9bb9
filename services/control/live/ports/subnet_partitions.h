// Who may talk to whom on one subnet: a partition for each tenant that has a contract, of the adapter ports of the
// hosts where its jobs run. All others of these hosts' peers they reach as limited members of the default partition
// reach its full members: the managing port, hosts without GPUs (storage, logins), and hosts with jobs of tenants that
// have no contract and so no partition of their own. Pure.
#pragma once

#include <vector>

#include "fabric/qos/infiniband_plan.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/host_jobs.h"

namespace railweave::control {

struct SubnetPartitions {
  std::vector<fabric::TenantPartition> tenants;  // of every contract, by name
  std::vector<fabric::PortId> full_members;      // of the default partition; ascending
  friend bool operator==(const SubnetPartitions&, const SubnetPartitions&) = default;
};

// managers: ports through which the subnet is managed. Without any contract all are full members.
SubnetPartitions partitions_of(const ClusterState& state, const HostJobs& jobs, fabric::SubnetId subnet,
                               const std::vector<fabric::PortId>& managers);

// Of what a tenant's jobs send when nothing else is said: its contract's first class, else the first for bandwidth.
std::uint8_t default_class(const fabric::QosClasses& classes, const scheduler::Contract& contract);

}  // namespace railweave::control
