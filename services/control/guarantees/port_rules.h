// What the ports of live subnets can hold of the classes of traffic, by what their devices reported (PortLimits). Pure.
#pragma once

#include "fabric/qos/infiniband_plan.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/guarantee_book.h"

namespace railweave::control {

struct PortRules {
  bool known = false;  // some live subnet has reported its ports; else they are as large as they can be
  unsigned data_lanes = 15;
  fabric::ArbitrationLimits arbitration{.entries = fabric::kMaxArbitrationEntries};
  fabric::RoutingLanes routing;
};

// The smallest of all subnets. Errors: impossible "qos.lanesDoNotSuffice", "qos.levelsDoNotSuffice", "qos.tableTooSmall":
// ports keep the tables that they have, and nothing can be promised. Precondition: the book is at the state.
Result<PortRules> ports_hold(const ClusterState& state, const fabric::QosClasses& classes, const GuaranteeBook& book);
PortRules port_rules(const ClusterState& state);

// The number of lanes that jobs may have of their own beside these classes; of a fabric with InfiniBand and Ethernet, the
// smaller one. Precondition: the book is at the state.
unsigned owned_lanes(const ClusterState& state, const fabric::QosClasses& classes, const GuaranteeBook& book);

}  // namespace railweave::control
