// Follows the packets of all source groups to one target, hop by hop. Groups that meet at a switch continue as one
// digest, so a target costs the switches on its routes, whatever the number of sources.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/capacity/hose_frontier.h"
#include "fabric/capacity/link_uses.h"
#include "fabric/capacity/plane_hose.h"

namespace railweave::fabric {

class DigestWalk {
 public:
  explicit DigestWalk(std::size_t switches) : frontier_(switches) {}

  // For another job or plane. O(groups).
  void start(const PlaneHose& hose);
  // Adds the links crossed to `uses`, and the groups without a first hop to the unrouted pairs of `hose`. False:
  // packets are lost behind their first hop, or loop; a SetWalk finds of which groups.
  [[nodiscard]] bool walk(PlaneHose& hose, std::uint32_t target, LinkUses& uses);

 private:
  void add_bundles(PlaneHose& hose, std::uint32_t target);
  void correct_members(PlaneHose& hose, std::uint32_t target);

  std::vector<SourceDigest> bundles_;  // the members of each
  HoseFrontier<SourceDigest> frontier_;
  std::vector<PlaneHose::NextHop> next_hops_;  // of the present frontier
};

}  // namespace railweave::fabric
