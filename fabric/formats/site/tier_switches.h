// Switches for a fabric of which only groups of hosts are known (clouds, Slurm's topology files): one for each group, with
// a link to every host or group in it. Rates are assumed, and said to be: kAssumedGbpsPerGpu for a host's port, and for a
// group as much as all that is in it. Nearness is what placement can use of this; predicted times mean little.
// Hosts of which only the zone is known are in a group of their zone, those of which nothing is in one by themselves, and
// outermost groups are taken to reach each other. One host alone gets no switch.
// Findings: speedAssumed, tiersWithoutCables, hostsWithoutGroup, groupsTakenAsJoined.
#pragma once

#include <vector>

#include "fabric/formats/site/site_facts.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

inline constexpr unsigned kAssumedGbpsPerGpu = 400;

void add_tier_switches(const std::vector<HostFacts>& hosts, TopologyBuilder& builder);

}  // namespace railweave::fabric
