// Dragonfly (Kim, Dally, Scott and Abts, ISCA 2008): groups of switches, each group a full mesh, and every group joined
// to every other. Dragonfly+ (Shpiner et al., HiPINEB 2017): a group is a two-tier Clos with hosts on its leaves and
// links to other groups on its spines. The group of a switch is Topology::group().
#pragma once

#include "fabric/generate/network_draft.h"

namespace railweave::fabric {

// Between every two of g groups there are floor(links of a group / (g - 1)) links; remaining ports stay free.
struct DragonflySpec {
  ClusterSpec cluster;                   // hosts 0: all that fit
  std::uint32_t switches_per_group = 4;  // a
  std::uint32_t hosts_per_switch = 2;    // p
  std::uint32_t global_links = 2;        // h, of one switch
  std::uint32_t groups = 0;              // g; 0: enough for the hosts given, else the maximum, a * h + 1
  std::uint32_t radix = 0;               // 0: the number of ports needed
};
Result<void> generate_dragonfly(DragonflySpec spec, TopologyBuilder& builder);

struct DragonflyPlusSpec {
  ClusterSpec cluster;  // hosts 0: all that fit
  std::uint32_t leaves_per_group = 4;
  std::uint32_t spines_per_group = 4;
  std::uint32_t hosts_per_leaf = 4;
  std::uint32_t global_links = 4;  // of one spine
  std::uint32_t groups = 0;        // 0: enough for the hosts given, else the maximum
  std::uint32_t radix = 0;         // 0: the number of ports needed
};
Result<void> generate_dragonfly_plus(DragonflyPlusSpec spec, TopologyBuilder& builder);

}  // namespace railweave::fabric
