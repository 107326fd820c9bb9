// Small irregular fabrics at random, by seed: trees with missing cables, links within a rank, parallel links, end ports
// on spines, aggregation nodes, leaves cabled to leaves or to the top, halves of different size, several parts.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fabric/topology/topology.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::testing {

// A description of switches and cables; build() numbers ports in their order.
struct FabricSketch {
  struct Switch {
    unsigned hosts = 0;
    unsigned aggregation_nodes = 0;
  };
  std::vector<Switch> switches;
  std::vector<std::pair<unsigned, unsigned>> cables;
  std::vector<LinkSpec> cable_specs;      // same length as cables; missing ones: 4x NDR
  std::vector<unsigned> lmc_of_hosts{0};  // assigned to hosts in turn
  std::uint64_t guid_seed = 0;
};

TopologyPtr build(const FabricSketch& sketch);

FabricSketch random_tree(std::uint64_t seed);   // irregular, mostly connected
FabricSketch random_graph(std::uint64_t seed);  // switches cabled at random

}  // namespace railweave::fabric::testing
