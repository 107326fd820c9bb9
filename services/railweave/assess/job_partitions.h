// Whether the hosts of a job can reach each other through a partition of the subnet, as far as partitions were told
// (labels that fabric/formats/sources/ufm_join.h makes).
#pragma once

#include <span>

#include "fabric/topology/topology.h"

namespace railweave::cli {

// True also where partitions of one of the hosts were not told. Limited members reach full ones alone.
bool share_a_partition(const fabric::Topology& topology, std::span<const fabric::HostId> hosts);

}  // namespace railweave::cli
