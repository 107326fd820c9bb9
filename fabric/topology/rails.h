// Rails inferred from the cabling: which leaf each adapter port of a host hangs on. In a rail-optimized fabric the n-th
// adapter of every host hangs on the n-th leaf of its rail unit; elsewhere there are no rails to speak of.
//
// Structure comes first: leaves that serve the same hosts (LeafSharing) are on different rails. Then
//  - where such leaves are never connected to each other, as with one network per rail, each network is a rail;
//  - else device names ("mlx5_4", "HCA-5": the same place) say which leaf of one unit continues which of another: a
//  leaf
//    goes to the rail most of its adapters are usually on, unless a leaf that serves the same hosts has it.
// There are as many rails as the hosts have leaves, leaving aside the one in twenty with the most. Unnamed and
// management hosts have no say, nor have hosts on a single leaf, so a plain fat tree has no rails, even with several
// adapters per host. No rails either where fewer than half of the ports of hosts with several leaves come out on rails
// of their own.
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
  // Share of the adapter ports of named hosts with several leaves that agree with their leaf's rail: no other leaf of
  // the host is on it and, unless the cabling alone decides, the port's device is one usually found on it. 0 without
  // rails.
  double confidence = 0;
};

// O(ports x leaves per host).
RailAssignment infer_rails(const Topology& topology);

// The place a device name gives its adapter within the host, from 0: 4 for "mlx5_4" and for "HCA-5".
std::optional<std::uint32_t> device_ordinal(std::string_view device);

}  // namespace railweave::fabric
