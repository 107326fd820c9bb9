// Replaces one subnet of a fabric by what discovery found. What discovery cannot find (GPUs, NVLink domains, racks,
// labels, rails, cable lengths, names given by hand, other subnets) is kept. Pure.
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
  // Hosts with GPUs that were not found although all of their cables were in the subnet. They are left out, with their
  // GPUs.
  std::vector<std::string> hosts_lost;
  std::uint64_t gpus_lost = 0;
};

// All of `found` is the subnet. Switches and adapters are matched by GUID; hosts by name, else by an adapter they have
// in common. Devices, LIDs, ports, cables and their rates are those found. A switch keeps its present name unless that
// is only its description. GPUs of `found` are ignored.
SubnetReplacement replace_subnet(const Topology& present, const Topology& found, std::string_view subnet);

}  // namespace railweave::fabric
