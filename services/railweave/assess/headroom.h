// How much of their adapters' rate hosts can be promised to any hosts outside of their leaf group: what the uplinks of the
// group carry, shared among its hosts. Routes that spread unevenly give less; that is what the routes' section shows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "fabric/topology/locality.h"
#include "fabric/topology/topology.h"

namespace railweave::cli {

struct GroupRoom {
  std::string group;
  std::size_t hosts = 0;
  double host_gbps = 0, uplink_gbps = 0;  // of all links to hosts, and of all up
  [[nodiscard]] double share() const { return host_gbps > 0 ? std::min(1.0, uplink_gbps / host_gbps) : 1; }
};

// Groups with hosts, the one with least room first.
std::vector<GroupRoom> headroom(const fabric::Topology& topology, const fabric::Locality& locality);

}  // namespace railweave::cli
