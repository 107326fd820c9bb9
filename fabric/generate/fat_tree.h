// Fat trees of one, two or three tiers, with any radix and oversubscription: all adapters of a host in one plane are
// cabled to the same leaf, and hosts fill leaves in order. With an arity k it is the k-ary n-tree of Petrini and
// Vanneschi (IPPS 1997): n tiers of k^(n-1) switches each, with k ports down and, below the top, k up.
#pragma once

#include "fabric/generate/clos.h"

namespace railweave::fabric {

struct FatTreeSpec {
  ClusterSpec cluster;
  ClosSpec clos;
  std::uint32_t arity = 0;           // 0: by the counts in `clos`
  std::uint32_t hosts_per_leaf = 0;  // 0: all that fit on the leaf's down ports
};

// After an error the builder holds a part of a fabric and must be discarded. That is so for all generators.
Result<void> generate_fat_tree(FatTreeSpec spec, TopologyBuilder& builder);

}  // namespace railweave::fabric
