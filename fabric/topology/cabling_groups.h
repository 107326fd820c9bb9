// Groups of hosts that the cabling alone shows: leaf groups, pods and components. Internal to fabric/topology; what
// they mean is in locality.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

struct CablingGroups {
  // One entry per host, any numbers that are equal for hosts of one group.
  std::vector<std::uint32_t> leaf_group, pod, component;
  bool has_leaf_groups = false;                // some host has a cable
  std::vector<std::string_view> named_pod_of;  // of each host, where the switches name their groups; else empty
};

// The hosts whose place matters: those with GPUs; where none has, those that are for computing; where none is, all.
std::vector<bool> counted_hosts(const Topology& topology);

CablingGroups derive_cabling_groups(const Topology& topology, const std::vector<bool>& counted);

}  // namespace railweave::fabric
