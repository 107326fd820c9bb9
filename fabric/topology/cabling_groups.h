// Groups of hosts derived from the cabling alone: leaf groups, pods and components, as defined in locality.h. Internal
// to fabric/topology.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

struct CablingGroups {
  // One entry per host; equal numbers mean the same group.
  std::vector<std::uint32_t> leaf_group, pod, component;
  bool has_leaf_groups = false;                // some host has a cable
  std::vector<std::string_view> named_pod_of;  // by host, if the switches name their groups; else empty
};

// The hosts whose location matters: those with GPUs; if none has any, compute hosts; if there are none, all.
std::vector<bool> counted_hosts(const Topology& topology);

CablingGroups derive_cabling_groups(const Topology& topology, const std::vector<bool>& counted);

}  // namespace railweave::fabric
