// What taking GPUs costs the jobs to come: the GPUs that a job of some size could have used before and cannot use
// after, expected over a mix of sizes. After "Beware of Fragmentation" (Weng et al., USENIX ATC 2023), where a GPU
// counts as lost to a size when no job of that size can use it where it is; here sizes beyond a leaf count whole leaves
// inside one group of the nearest level that could hold them, so that whole NVLink domains, racks and leaf groups stay
// whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/placement_tree.h"

namespace railweave::scheduler {

class Fragmentation {
 public:
  // The mix: sizes 1, 2, 4... up to what the fabric holds, each as likely as any other.
  explicit Fragmentation(const Hierarchy& hierarchy);

  // Of taking `shares` (in order of leaves) from the tree as it is. O(shares x levels).
  [[nodiscard]] double lost_gpus(const PlacementTree& tree, std::span<const Share> shares) const;

 private:
  const Hierarchy* hierarchy_;
  std::vector<std::vector<unsigned>> sizes_;  // by level: exponents of the sizes that are sought there
  double chance_ = 0;                         // of each size
};

}  // namespace railweave::scheduler
