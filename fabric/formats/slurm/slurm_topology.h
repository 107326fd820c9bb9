// Slurm's topology files, so that what Slurm places by itself is near too:
//
//   topology.conf, tree   SwitchName=leafGroup-1 Nodes=dgx-[001-032]      TopologyPlugin=topology/tree, any Slurm
//                         SwitchName=cluster Switches=leafGroup-[1-4]
//   topology.conf, block  BlockName=nvl-1 Nodes=gb-[001-018]              TopologyPlugin=topology/block, since 23.11
//                         BlockSizes=18
//   topology.yaml         both, as topologies that partitions choose by name, since 25.05
//
// A switch is a group of nodes that are near each other (fabric/topology/locality.h), not a device: a node with a leaf
// per rail would be below eight. Parts of the fabric that nothing joins are trees of their own, so that no job spans them.
// A block is an NVLink domain of several nodes, else a leaf group. Nodes are those with GPUs, where there are any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/error.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

enum class SlurmFormat : std::uint8_t { conf, yaml };
enum class SlurmPlugin : std::uint8_t { tree, block };
BOOST_DESCRIBE_ENUM(SlurmPlugin, tree, block)

struct SlurmTopology {
  std::string text;
  std::vector<std::string> notes;  // what Slurm does not get: nodes whose names it does not take
};

// The same bytes for the same fabric. Errors: no node that Slurm takes; blocks in topology.conf of a fabric in several
// parts, which Slurm would join (slurm.severalFabrics). O(hosts x levels + ports).
Result<SlurmTopology> write_slurm_topology(const Topology& topology, SlurmFormat format, SlurmPlugin plugin);

}  // namespace railweave::fabric
