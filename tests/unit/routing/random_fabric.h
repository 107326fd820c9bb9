// Random fabrics, small and untidy, by seed: trees with cables missing, same-rank links, parallel links, end ports on
// spines, aggregation nodes, leaves chained to leaves or cabled straight to the top, halves of different size, several
// parts.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fabric/topology/topology.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::testing {

// Switches and cables to be, with ports numbered as they come.
struct FabricSketch {
  struct Switch {
    unsigned hosts = 0;
    unsigned aggregation_nodes = 0;
  };
  std::vector<Switch> switches;
  std::vector<std::pair<unsigned, unsigned>> cables;
  std::vector<LinkSpec> cable_specs;      // same length as cables; missing ones: 4x NDR
  std::vector<unsigned> lmc_of_hosts{0};  // hosts take these in turn
  std::uint64_t guid_seed = 0;
};

TopologyPtr build(const FabricSketch& sketch);

FabricSketch random_tree(std::uint64_t seed);   // untidy, mostly connected
FabricSketch random_graph(std::uint64_t seed);  // switches cabled at random

}  // namespace railweave::fabric::testing
