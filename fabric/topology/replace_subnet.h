// A fabric with one of its subnets as it was found to be: what a discovery tells goes in, what it cannot tell (GPUs,
// NVLink domains, racks, labels, rails, cable lengths, names given by hand, other subnets) stays. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/topology/topology.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

struct SubnetReplacement {
  TopologyBuilder builder;  // to be built
  // Hosts whose every cable was in the subnet and that were not found: they are left out, and their GPUs with them.
  std::vector<std::string> hosts_lost;  // those with GPUs
  std::uint64_t gpus_lost = 0;
};

// All of `found` is the subnet. Switches and adapters are the same when their GUIDs are; hosts when they have the same
// name, else when they have the same adapter. Found anew: devices, LIDs, ports, cables and their rates. A switch keeps
// its present name if that is not merely its description. GPUs of `found` are not looked at.
SubnetReplacement replace_subnet(const Topology& present, const Topology& found, std::string_view subnet);

}  // namespace railweave::fabric
