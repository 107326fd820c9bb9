// Traffic classes as the port tables of an InfiniBand subnet, or as the files with which OpenSM sets them.
#pragma once

#include <string>

#include "fabric/qos/infiniband_plan.h"
#include "fabric/topology/topology.h"
#include "services/railweave/terminal/output.h"

namespace railweave::cli {

struct PlannedSubnet {
  std::string engine;  // that computed the routes
  fabric::InfinibandPlanInput input;
  fabric::InfinibandPlan plan;
};

struct PortSelection {  // null: all
  fabric::SwitchId sw;
  fabric::HostId host;
};

// opensm.conf, partitions.conf and qos-policy.conf, each after a heading. Throws CommandFailure.
std::string opensm_config(const PlannedSubnet& subnet);

// Classes and port tables as a document, and that document for people.
Json infiniband_config(const fabric::Topology& topology, const PlannedSubnet& subnet, const fabric::QosClasses& classes,
                       const PortSelection& selection);
void print_infiniband(Output& output, const Json& document);

}  // namespace railweave::cli
