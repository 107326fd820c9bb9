// Rail-optimized fabrics: hosts stand in rail units; within a unit, adapter r of every host hangs on the unit's leaf
// for rail r, and spines (and cores) join the leaves (NVIDIA DGX SuperPOD reference architecture). Rail-only fabrics
// have no spines: every rail is a network of its own (Wang et al., arXiv 2307.12169).
#pragma once

#include "fabric/generate/clos.h"

namespace railweave::fabric {

struct RailOptimizedSpec {
  ClusterSpec cluster;  // nics_per_host is the number of rails; planes: groups of rails kept apart
  ClosSpec clos;
  std::uint32_t hosts_per_unit = 0;  // 0: as many as a leaf's down ports take in whole racks and NVLink domains
};
Result<void> generate_rail_optimized(RailOptimizedSpec spec, TopologyBuilder& builder);

struct RailOnlySpec {
  ClusterSpec cluster;  // planes are set to the number of rails
  std::uint32_t radix = 64;
};
Result<void> generate_rail_only(RailOnlySpec spec, TopologyBuilder& builder);

}  // namespace railweave::fabric
