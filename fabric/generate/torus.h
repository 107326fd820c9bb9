// 3D torus: every switch is joined to its two neighbours in each of three dimensions, with wrap-around. A dimension of
// two has one link between its switches, a dimension of one has none. Switches are named "torus-X-Y-Z", from 0. Hosts
// use ports 1 and up, followed by the ports to +x, -x, +y, -y, +z and -z, so that coordinates and directions can
// be recognized.
#pragma once

#include "fabric/generate/network_draft.h"

namespace railweave::fabric {

struct TorusSpec {
  ClusterSpec cluster;  // hosts 0: all that fit
  std::uint32_t x = 4;
  std::uint32_t y = 4;
  std::uint32_t z = 4;
  std::uint32_t hosts_per_switch = 1;
  std::uint32_t links_per_neighbour = 1;
};
Result<void> generate_torus(TorusSpec spec, TopologyBuilder& builder);

}  // namespace railweave::fabric
