// The partitions of one subnet: one for each tenant with a contract, of the adapter ports of the hosts where its jobs
// run. In the default partition these ports are limited members, which reach only its full members: the managing port,
// hosts without GPUs (storage, logins), and hosts with jobs of tenants without a contract. Pure.
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

// The class of a tenant's traffic that names none: its contract's first class, else the first for bandwidth.
std::uint8_t default_class(const fabric::QosClasses& classes, const scheduler::Contract& contract);

}  // namespace railweave::control
