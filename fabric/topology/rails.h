// Infers rails from the leaf that each adapter port of a host is cabled to. In a rail-optimized fabric the n-th
// adapter of every host is cabled to the n-th leaf of its rail unit; other fabrics have no rails.
//
// Leaves that serve the same hosts (LeafSharing) are on different rails. Then
//  - if such leaves are never connected to each other, as with one network per rail, each network is a rail;
//  - else device names ("mlx5_4" and "HCA-5" are the same place) tell which leaf of one unit continues which of
//    another: a leaf is on the rail that most of its adapters are usually on, unless a leaf that serves the same
//    hosts is on it.
// The number of rails is the 95th percentile of the number of leaves per host. Unnamed and management hosts do not
// count, nor do hosts on a single leaf, so a plain fat tree has no rails, even with several adapters per host. If fewer
// than half of the ports of hosts with several leaves would be on a rail of their own, there are no rails.
// Networks that share no hosts (rail_islands.h), as those of two sites, are inferred each by itself: rail 0 of one has
// nothing to do with rail 0 of another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

struct RailAssignment {
  std::vector<RailId> rail_of_port;  // one per adapter port, in the order of Topology::hca_ports(); none: on no rail
  std::vector<std::string> names;    // of the rails, "rail-0" ..., in order of the devices usually on them
  // Share of the adapter ports of named hosts with several leaves that agree with the rail of their leaf: no other leaf
  // of the host is on it and, unless the cabling alone decides, the port's device is usually on it. Of networks that
  // have rails; 0 without any.
  double confidence = 0;
};

// O(ports x leaves per host).
RailAssignment infer_rails(const Topology& topology);

// The position of an adapter within its host that its device name tells, from 0: 4 for "mlx5_4" and for "HCA-5".
std::optional<std::uint32_t> device_ordinal(std::string_view device);

}  // namespace railweave::fabric
