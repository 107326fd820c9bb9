// Rail-optimized fabrics: hosts form rail units; within a unit, adapter r of every host is cabled to the unit's leaf
// for rail r, and spines (and cores) join the leaves (NVIDIA DGX SuperPOD reference architecture). Rail-only fabrics
// have no spines: every rail is a separate network (Wang et al., arXiv 2307.12169).
#pragma once

#include "fabric/generate/clos.h"

namespace railweave::fabric {

struct RailOptimizedSpec {
  ClusterSpec cluster;  // nics_per_host is the number of rails; a plane is a group of rails without links to others
  ClosSpec clos;
  std::uint32_t hosts_per_unit = 0;  // 0: the whole racks and NVLink domains that fit on a leaf's down ports
};
Result<void> generate_rail_optimized(const RailOptimizedSpec& spec, TopologyBuilder& builder);

struct RailOnlySpec {
  ClusterSpec cluster;  // planes are set to the number of rails
  std::uint32_t radix = 64;
};
Result<void> generate_rail_only(RailOnlySpec spec, TopologyBuilder& builder);

}  // namespace railweave::fabric
