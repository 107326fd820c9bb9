// The partitions of one subnet: one for each tenant with a contract, of the adapter ports of the hosts where its jobs
// run, at the index that the state keeps for it (HostKeys). Where the tenant asked for isolation, these ports are limited
// members of the default partition, which reach only its full members: all other ports, storage and logins above all.
// Pure.
#pragma once

#include <vector>

#include "fabric/qos/infiniband_plan.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

struct SubnetPartitions {
  std::vector<fabric::TenantPartition> tenants;  // of every contract, by name
  std::vector<fabric::PortId> limited;           // members of the default partition; ascending
  friend bool operator==(const SubnetPartitions&, const SubnetPartitions&) = default;
};

// managers: ports through which the subnet is managed: never limited.
SubnetPartitions partitions_of(const ClusterState& state, fabric::SubnetId subnet,
                               const std::vector<fabric::PortId>& managers);

// The class of a tenant's traffic that names none: its contract's first class, else the first for bandwidth.
std::uint8_t default_class(const fabric::QosClasses& classes, const scheduler::Contract& contract);

}  // namespace railweave::control
