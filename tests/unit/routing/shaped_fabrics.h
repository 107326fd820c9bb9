// Tori and dragonflies as cables only: GUIDs and cables in random order, no groups named.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/unit/routing/random_fabric.h"

namespace railweave::fabric::testing {

struct TorusShape {
  std::vector<unsigned> sizes;
  unsigned hosts = 1;     // per switch
  unsigned parallel = 1;  // cables between neighbours
};
FabricSketch torus(const TorusShape& shape, std::uint64_t seed);

struct DragonflyShape {
  unsigned switches = 4;  // of a group; leaves where there are spines
  unsigned spines = 0;    // of a group; with them it is a dragonfly+
  unsigned hosts = 2;     // per switch, or leaf
  unsigned groups = 5;
  unsigned per_pair = 1;  // cables between two groups
};
// group: by number of switch in the sketch; switch i of the topology is called "sw-i".
FabricSketch dragonfly(const DragonflyShape& shape, std::uint64_t seed, std::vector<unsigned>* group = nullptr);

}  // namespace railweave::fabric::testing
