// Joins what UFM tells of systems and partitions with a fabric that dumps of cables gave. Pure.
#pragma once

#include <string>
#include <vector>

#include "fabric/formats/infiniband/ufm_partitions.h"
#include "fabric/formats/infiniband/ufm_systems.h"
#include "fabric/topology/finding.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

// Labels of hosts in a partition: "partition/0x0012" is "full", or "limited" where one of its ports is a limited member.
inline constexpr std::string_view kPartitionLabel = "partition/";

struct HostLabel {
  HostId host;
  std::string key, value;
};

// Findings: systemNotCabled (switches and hosts that no cable knows), sourcesDisagree (ports that UFM and the cables give to
// different hosts).
std::vector<Finding> compare_with_systems(const std::vector<UfmSystem>& systems, const std::string& source,
                                          const Topology& topology);

struct JoinedPartitions {
  std::vector<HostLabel> labels;
  std::vector<Finding> findings;
};

// Findings: partitionsRead, partlyInPartition (hosts of whose adapters in the partition's subnet some are in it and others not),
// partitionGuidUnknown (members that are no adapter's of the fabric).
JoinedPartitions join_partitions(const std::vector<UfmPartition>& partitions, const std::string& source,
                                 const Topology& topology);

}  // namespace railweave::fabric
