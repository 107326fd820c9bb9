// Loads of the links by which a job's packets leave the switches they start from. Such a link carries the packets of
// one source group, unless those of others pass through it too. Scratch of HoseLoads, kept from job to job.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/capacity/link_uses.h"
#include "fabric/capacity/load_vector.h"
#include "fabric/capacity/plane_hose.h"

namespace railweave::fabric {

class EntryLoads {
 public:
  // Appends the loads of links that one group alone uses to `loads`, and marks the others in `uses` as mixed.
  // O(bundles x targets + deviations + groups x ports of a switch).
  void append(const PlaneHose& hose, LinkUses& uses, LoadVector& loads);

 private:
  void sum_bundles(const PlaneHose& hose);

  std::vector<std::int64_t> bundle_receive_mbps_;  // bundles x ports: of targets that a bundle sends to by a port
  std::vector<std::int64_t> receive_mbps_;         // the same of one group
};

}  // namespace railweave::fabric
